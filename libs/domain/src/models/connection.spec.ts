import { checkAddressChange, checkConnection, type ConnectionSettings } from './connection.js';

const model = (id: string) => ({ id, name: id, contextWindow: null, reasoningEfforts: [] });
const openai: ConnectionSettings = { kind: 'openai', name: 'Ours', baseUrl: null, api: null, models: [model('a')], hasKey: true };
const local: ConnectionSettings = { ...openai, kind: 'openai-compatible', baseUrl: 'http://llm.example/v1', hasKey: false };

test.each([
  ['a compatible server has no address of its own', { ...local, baseUrl: null }, 'baseUrl', 'needed'],
  ['OpenAI needs a key', { ...openai, hasKey: false }, 'apiKey', 'needed'],
  ['Anthropic needs a key', { ...openai, kind: 'anthropic' as const, hasKey: false }, 'apiKey', 'needed'],
  ['Anthropic has one interface', { ...openai, kind: 'anthropic' as const, api: 'chat' as const }, 'api', 'not-for-this-kind'],
  ['a model is listed once', { ...openai, models: [model('a'), model('b'), model('a')] }, 'models[2].id', 'duplicate'],
  ['an address takes no query', { ...local, baseUrl: 'http://llm.example/v1?key=1' }, 'baseUrl', 'query'],
])('%s', (_, wanted, field, reason) => {
  expect(checkConnection(wanted)).toEqual({ ok: false, failure: { _tag: 'ModelConnectionInvalid', field, reason } });
});

test.each([
  ['OpenAI speaks Responses', openai, 'responses'],
  ['a compatible server speaks chat completions', local, 'chat'],
  ['a chosen interface stays', { ...local, api: 'responses' as const }, 'responses'],
  ['Anthropic has none', { ...openai, kind: 'anthropic' as const }, null],
])('%s unless told otherwise', (_, wanted, api) => {
  expect(checkConnection(wanted)).toMatchObject({ ok: true, value: { api } });
});

describe('a stored key and another address', () => {
  const change = { from: 'https://a.example/v1', to: 'https://b.example/v1', hasKey: true, newKey: false };
  test.each([
    ['the key does not follow to another host', change, false],
    ['nor from the vendor to another host', { ...change, from: null }, false],
    ['nor to a host that begins alike', { ...change, to: 'https://a.example.evil/v1' }, false],
    ['nor to another port', { ...change, to: 'https://a.example:444/v1' }, false],
    ['nor from https to http', { ...change, to: 'http://a.example/v1' }, false],
    ['another path is the same server', { ...change, to: 'https://A.example/v2' }, true],
    ['a new key comes along', { ...change, newKey: true }, true],
    ['without a key there is nothing to guard', { ...change, hasKey: false }, true],
  ])('%s', (_, input, allowed) => {
    expect(checkAddressChange(input).ok).toBe(allowed);
  });
});
