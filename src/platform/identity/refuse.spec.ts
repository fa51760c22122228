import { resourceOf } from './refuse.js';

test.each([
  ['/v1/bots', '/v1/bots?limit=1', null],
  ['/v1/bots/:botId', '/v1/bots/bot_1', '/v1/bots/bot_1'],
  ['/v1/bots/:botId/messages', '/v1/bots/bot_1/messages?x=/a', '/v1/bots/bot_1'],
  ['/v1/chats/:chatId/turns/:turnId/items', '/v1/chats/chat_1/turns/turn_2/items', '/v1/chats/chat_1/turns/turn_2'],
])('%s is about %s', (pattern, url, resource) => expect(resourceOf(pattern, url)).toBe(resource));
