import { endOf, eventsOf, newKey, scripted, send, startChatApp, textsOf, uuidOf, type ChatApp, type Person } from './chat-app.js';

let app: ChatApp;
let person: Person;
let bot: string;
beforeAll(async () => {
  app = await startChatApp();
});
afterAll(() => app.close());
beforeEach(async () => {
  app.provider.reset();
  person = await app.person();
  bot = await app.bot(person);
});

test('202: a message is answered, and the answer is stored', async () => {
  app.provider.answer({ text: ['Day one: ', 'the Forum.'], usage: { input: 9, output: 3 } });
  const receipt = await send(person, bot, 'Plan three days in Rome.');
  expect(receipt).toMatchObject({ executionId: expect.stringMatching(/^exec_/), sequence: 2, chat: expect.stringMatching(/^chat_/), turn: expect.stringMatching(/^turn_/) });

  const { turn, response } = await endOf(person, receipt);
  expect(response).toMatchObject({
    id: receipt.turn,
    status: 'completed',
    error: null,
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Day one: the Forum.' }] }],
  });
  expect(turn).toMatchObject({
    id: receipt.turn,
    status: { _tag: 'Completed' },
    settings: { mode: 'build' },
    steps: 1,
    usage: { inputTokens: 9, outputTokens: 3 },
    executionId: receipt.executionId,
  });
  expect(turn.items).toHaveLength(2);
  expect(turn.input).toEqual([turn.items[0]]);
  expect(turn.completedAt).toBeGreaterThanOrEqual(turn.startedAt);

  const events = await eventsOf(person, receipt.executionId);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(events[1]!.body).toMatchObject({ _tag: 'Input', turn: receipt.turn });
  expect(
    events
      .filter(({ body }) => body._tag === 'Text')
      .map(({ body }) => body.delta)
      .join(''),
  ).toBe('Day one: the Forum.');
  expect(events.filter(({ body }) => body._tag === 'Item').map(({ body }) => body.item.seq)).toEqual([1, 2]);
  expect(events.slice(-2).map(({ body }) => body)).toEqual([
    { _tag: 'Result', turn: receipt.turn },
    { _tag: 'State', state: 'completed' },
  ]);
});

test('200: the chat, its list, its items and its turns tell the same', async () => {
  app.provider.answer({ text: ['One.'] }, { text: ['Two.'] });
  const first = await send(person, bot, 'a');
  await endOf(person, first);
  const second = await send(person, bot, 'b');
  await endOf(person, second);
  expect(second.chat).toBe(first.chat);

  const { body } = await person.call('GET', `/v1/chats/${first.chat}`);
  expect(body).toMatchObject({
    chat: { id: first.chat, kind: 'direct', bot, parent: null, settings: { mode: 'build' } },
    status: 'Completed',
    turn: { id: second.turn },
    response: { id: second.turn, status: 'completed' },
    executionId: second.executionId,
    inbox: 0,
    open: { delegations: 0, requests: 0, reminders: 0 },
  });
  const list = (await person.call('GET', `/v1/chats?bot=${bot}&kind=direct`)).body;
  expect(list).toMatchObject({
    items: [{ chat: body.chat, status: 'Completed', response: { id: second.turn, status: 'completed' }, executionId: second.executionId }],
    next: null,
  });
  expect((await person.call('GET', '/v1/chats?kind=task')).body.items).toEqual([]);

  const newest = (await person.call('GET', `/v1/chats/${first.chat}/items?limit=3`)).body;
  expect(textsOf(newest.items)).toEqual(['Two.', 'b', 'One.']);
  const older = (await person.call('GET', `/v1/chats/${first.chat}/items?limit=3&before=${newest.next}`)).body;
  expect(textsOf(older.items)).toEqual(['a']);
  expect(older.next).toBeNull();
  expect(older.items[0]).toMatchObject({ seq: 1, origin: { chat: first.chat, turn: first.turn, step: 1, notice: null } });

  const turns = (await person.call('GET', `/v1/chats/${first.chat}/turns?limit=1`)).body;
  expect(turns).toMatchObject({ items: [{ id: first.turn }], next: first.turn });
  expect((await person.call('GET', `/v1/chats/${first.chat}/turns?after=${turns.next}`)).body).toMatchObject({ items: [{ id: second.turn }], next: null });
  const items = (await person.call('GET', `/v1/chats/${first.chat}/turns/${second.turn}/items?limit=1`)).body;
  expect(textsOf(items.items)).toEqual(['b']);
  expect(textsOf((await person.call('GET', `/v1/chats/${first.chat}/turns/${second.turn}/items?after=${items.next}`)).body.items)).toEqual(['Two.']);
});

test('200: the models that a chat may use, and the one that it uses', async () => {
  app.provider.answer({ text: ['Yes.'] });
  const { chat, ...receipt } = await send(person, bot, 'hello');
  await endOf(person, { chat, ...receipt });
  const { status, body } = await person.call('GET', `/v1/chats/${chat}/models`);
  expect({ status, body }).toMatchObject({ status: 200, body: { selected: { _tag: 'Config.Selection', ...scripted } } });
  expect(body.providers).toContainEqual({ id: 'development', name: 'Development scenarios (simulated)' });
  expect(body.models).toContainEqual(expect.objectContaining({ _tag: 'Config.Model', provider: 'development', id: 'mock-text', reasoningEfforts: [], serviceTiers: [] }));
});

test('202: the model reads the whole conversation', async () => {
  app.provider.answer({ text: ['Hello Ann.'] }, { text: ['Ann.'] });
  await endOf(person, await send(person, bot, 'I am Ann.'));
  await endOf(person, await send(person, bot, 'Who am I?'));
  const said = app.provider.requests[1]!.text;
  for (const part of ['I am Ann.', 'Hello Ann.', 'Who am I?']) expect(said).toContain(part);
});

test('202: one key 20 times at once is one execution and twenty equal receipts', async () => {
  app.provider.answer({ text: ['Once.'] });
  const body = { input: 'Only once.', commandKey: 'once' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => person.call('POST', `/v1/bots/${bot}/messages`, body)));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]!.status).toBe(202);
  await endOf(person, answers[0]!.body);
  expect(app.provider.requests).toHaveLength(1);
  expect((await person.call('GET', `/v1/chats/${answers[0]!.body.chat}/items`)).body.items).toHaveLength(2);
});

test('202: twenty first messages at once make one chat and lose none', async () => {
  app.provider.whenAsked(() => ({ text: ['Yes.'] }));
  const receipts = await Promise.all(Array.from({ length: 20 }, (_, index) => send(person, bot, `message ${index}`)));
  expect(new Set(receipts.map(({ chat }) => chat)).size).toBe(1);
  for (const receipt of receipts) await endOf(person, receipt);
  const chat = receipts[0]!.chat;
  const settled = await person.call('GET', `/v1/chats/${chat}`);
  const { items } = (await person.call('GET', `/v1/chats/${chat}/items?limit=100`)).body;
  expect(settled.status).toBe(200);
  expect(
    textsOf(items)
      .filter((text) => text.startsWith('message'))
      .sort(),
  ).toEqual(Array.from({ length: 20 }, (_, index) => `message ${index}`).sort());
});

test('202: the three ways to write a text are one input; another one with the same key is not', async () => {
  app.provider.answer({ text: ['Yes.'] });
  const commandKey = newKey();
  const ways = ['Plan.', [{ role: 'user', content: 'Plan.' }], [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Plan.' }] }]];
  const answers = [];
  for (const input of ways) answers.push(await person.call('POST', `/v1/bots/${bot}/messages`, { input, commandKey }));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect((await person.call('POST', `/v1/bots/${bot}/messages`, { input: 'Plan.', commandKey, queue: false })).text).toBe(answers[0]!.text);
  const { status, body } = await person.call('POST', `/v1/bots/${bot}/messages`, { input: 'Plan!', commandKey });
  expect({ status, body }).toMatchObject({ status: 409, body: { _tag: 'ExecutionKeyConflict', commandKey } });
  expect((await person.call('POST', `/v1/bots/${bot}/messages`, { input: 'Plan.', commandKey, queue: true })).status).toBe(409);
});

test('202: the receipt comes again after the bot was deleted; a new message does not', async () => {
  app.provider.answer({ text: ['Yes.'] });
  const body = { input: 'Hello', commandKey: newKey() };
  const first = await person.call('POST', `/v1/bots/${bot}/messages`, body);
  await endOf(person, first.body);
  expect((await person.call('DELETE', `/v1/bots/${bot}?expected=1`)).status).toBe(204);
  expect(await person.call('POST', `/v1/bots/${bot}/messages`, body)).toEqual(first);
  expect(await person.call('POST', `/v1/bots/${bot}/messages`, { ...body, commandKey: newKey() })).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
  expect(await person.call('POST', `/v1/chats/${first.body.chat}/messages`, { ...body, commandKey: newKey() })).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
});

test('202: several messages in one input are items of their own, in order', async () => {
  app.provider.answer({ text: ['Yes.'] });
  const receipt = await send(person, bot, [
    { role: 'user', content: 'a' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'b' },
        { type: 'input_text', text: 'c' },
      ],
    },
  ]);
  const { turn } = await endOf(person, receipt);
  expect(turn.input).toHaveLength(2);
  expect(textsOf((await person.call('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}/items`)).body.items)).toEqual(['a', 'bc', 'Yes.']);
});

test('404: foreign, missing and malformed ids answer with the same bytes', async () => {
  app.provider.answer({ text: ['Yes.'] });
  const receipt = await send(person, bot, 'mine');
  await endOf(person, receipt);
  const stranger = await app.person();
  const own = await send(stranger, await app.bot(stranger), 'theirs').catch(() => null);
  expect(own).not.toBeNull();
  const missing = 'chat_01k0000000e00800000000000g';
  const calls: [string, string, object?][] = [
    ['GET', ''],
    ['GET', '/items'],
    ['GET', '/turns'],
    ['GET', `/turns/${receipt.turn}`],
    ['GET', `/turns/${receipt.turn}/items`],
    ['GET', '/todos'],
    ['GET', '/models'],
    ['PUT', '/todos', { revision: 0, items: [] }],
    ['POST', '/messages', { input: 'x', commandKey: 'k-1' }],
    ['POST', '/interrupt', { commandKey: 'k-2' }],
  ];
  for (const [method, path, body] of calls) {
    const answers = await Promise.all([receipt.chat, missing, 'chat_nonsense', 'x'].map((id) => stranger.call(method, `/v1/chats/${id}${path}`, body)));
    expect(answers.map(({ status, body: { _tag } }) => ({ path, status, _tag }))).toEqual(answers.map(() => ({ path, status: 404, _tag: 'ChatNotFound' })));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  }
  // A turn of another chat, a malformed one and one that is not there.
  const turns = await Promise.all([own!.turn, 'turn_01k0000000e00800000000000g', 'turn_?'].map((id) => person.call('GET', `/v1/chats/${receipt.chat}/turns/${id}`)));
  expect(new Set(turns.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(turns[0]).toMatchObject({ status: 404, body: { _tag: 'ChatNotFound' } });
});

test.each<[string, object, string]>([
  ['no input', { commandKey: 'k' }, 'input'],
  ['a number as input', { input: 7, commandKey: 'k' }, 'input'],
  ['no key', { input: 'x' }, 'commandKey'],
  ['a long key', { input: 'x', commandKey: 'k'.repeat(129) }, 'commandKey'],
  ['a word for queue', { input: 'x', commandKey: 'k', queue: 'yes' }, 'queue'],
  ['an unknown field', { input: 'x', commandKey: 'k', expected: 3 }, 'expected'],
  ['an unknown field of a message', { input: [{ role: 'user', content: 'x', id: 1 }], commandKey: 'k' }, 'input[0].id'],
  ['another role', { input: [{ role: 'system', content: 'x' }], commandKey: 'k' }, 'input[0].role'],
])('400: %s is named and nothing is stored', async (_, body, field) => {
  const answer = await person.call('POST', `/v1/bots/${bot}/messages`, body);
  expect(answer).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
  expect((await person.call('GET', '/v1/chats')).body).toEqual({ items: [], next: null });
});

test('400: a file part names no file', async () => {
  const input = [{ role: 'user', content: [{ type: 'input_image', file: 'file_1' }] }];
  expect(await person.call('POST', `/v1/bots/${bot}/messages`, { input, commandKey: 'k' })).toMatchObject({ status: 400, body: { _tag: 'FileInvalid' } });
});

test('403 and 404: a bot that may be read takes no work without the right; one that may not be read is not there', async () => {
  const max = await app.member(person);
  const message = { input: 'x', commandKey: 'k' };
  expect(await max.call('POST', `/v1/bots/${bot}/messages`, message)).toMatchObject({ status: 404, body: { _tag: 'BotNotFound' } });
  expect((await max.call('POST', `/v1/bots/bot_nonsense/messages`, message)).text).toBe((await max.call('POST', `/v1/bots/${bot}/messages`, message)).text);
  const granted = await person.call('PUT', `/v1/bots/${bot}/grants`, { expected: 1, grants: [{ member: max.memberId, rights: ['read'] }] });
  expect(granted.status).toBe(200);
  expect(await max.call('POST', `/v1/bots/${bot}/messages`, message)).toMatchObject({ status: 403, body: { _tag: 'Forbidden' } });
  expect((await max.call('GET', '/v1/chats')).body.items).toEqual([]);
});

test('400: a bot whose model is gone makes no chat', async () => {
  const gone = await app.bot(person, { model: { provider: 'development', model: 'mock-text' } });
  await app.outside.query(`update bot set model = '{"_tag":"Config.Selection","provider":"nobody","model":"x"}' where id = $1`, [uuidOf(gone)]);
  expect(await person.call('POST', `/v1/bots/${gone}/messages`, { input: 'x', commandKey: 'k' })).toMatchObject({
    status: 400,
    body: { _tag: 'ChatModelInvalid', reason: 'provider-not-found' },
  });
  expect((await person.call('GET', '/v1/chats')).body.items).toEqual([]);
});

test('200: what a model writes is stored and returned, also where no database could hold it', async () => {
  app.provider.answer({ text: ['a\0b', ' \ud83d', '\ude00 ', '\ud800 end'] });
  const receipt = await send(person, bot, 'odd');
  const { response } = await endOf(person, receipt);
  expect(response.status).toBe('completed');
  const text: string = response.output[0].content[0].text;
  expect(text.startsWith('a\ufffdb')).toBe(true);
  expect(text).not.toMatch(/\p{Surrogate}/u);
  const streamed = (await eventsOf(person, receipt.executionId))
    .filter(({ body }) => body._tag === 'Text')
    .map(({ body }) => body.delta)
    .join('');
  expect(streamed).toBe(text);
});

test('nothing that was said stands in the database in the open', async () => {
  app.provider.answer({ text: ['heliotrope answer'] });
  await endOf(person, await send(person, bot, 'heliotrope question'));
  const { rows } = await app.outside.query<{ dump: string }>(
    `select string_agg(t::text, '') as dump from (select i::text as t from chat_item i union all select i::text from chat_input i union all select e::text from execution_event e union all select c::text from execution_call c union all select c::text from chat c union all select x::text from execution x) all_rows`,
  );
  expect(rows[0]!.dump).not.toContain('heliotrope');
  expect(rows[0]!.dump).not.toContain(Buffer.from('heliotrope').toString('hex'));
});
