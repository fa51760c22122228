import { fromPublicId } from '@platform/ids/typeid.js';
import { eventually } from '@test/support/eventually.js';
import { endOf, eventsOf, gate, send, startChatApp, textsOf, uuidOf, type ChatApp, type Person, type Receipt } from './chat-app.js';

type Ended = { readonly state: string; readonly failure_category: string | null };
type ShownItem = { readonly content: { readonly type: string; readonly callId: string; readonly status: string }; readonly origin: { readonly notice: object | null } };

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

const chatOf = async ({ chat }: Receipt) => (await person.call('GET', `/v1/chats/${chat}`)).body;
const todo = (id: string, status: string) => ({ id, content: `Do ${id}`, status });
const todosCall = (items: object[], id = 'call_1') => ({ id, name: 'openbot_todos', arguments: JSON.stringify({ items }) });

describe('todos', () => {
  const put = (receipt: Receipt, body: object) => person.call('PUT', `/v1/chats/${receipt.chat}/todos`, body);
  const list = async (receipt: Receipt) => (await person.call('GET', `/v1/chats/${receipt.chat}/todos`)).body.items;

  test('200: the bot keeps a list, is reminded once of each state, and what is all done goes with the turn', async () => {
    app.provider.answer(
      { calls: [todosCall([todo('read', 'in_progress'), todo('fix', 'pending')])] },
      { text: ['I stop here.'] },
      { calls: [todosCall([todo('read', 'done'), todo('fix', 'in_progress')])] },
      { text: ['And here.'] },
      { text: ['I do not go on.'] },
    );
    const receipt = await send(person, bot, 'work');
    const { turn } = await endOf(person, receipt);
    expect(turn).toMatchObject({ status: { _tag: 'Completed' }, steps: 5 });
    const { items } = (await person.call('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}/items?limit=100`)).body;
    const notices = items.filter(({ origin }: ShownItem) => origin.notice);
    expect(notices.map(({ origin }: ShownItem) => origin.notice)).toEqual([
      { kind: 'todos', ref: null },
      { kind: 'todos', ref: null },
    ]);
    expect(textsOf(notices).every((text) => text.startsWith('[OpenBot]'))).toBe(true);
    expect(turn.input).toHaveLength(3);
    expect(await list(receipt)).toEqual([todo('read', 'done'), todo('fix', 'in_progress')]);

    // The same state is not reminded of in a later turn either; an entry that is done empties the list.
    app.provider.answer({ text: ['Still not.'] });
    const still = await send(person, bot, 'and?');
    expect((await endOf(person, still)).turn.steps).toBe(1);
    app.provider.answer({ calls: [todosCall([todo('read', 'done'), todo('fix', 'done')])] }, { text: ['Done.'] });
    await endOf(person, await send(person, bot, 'now?'));
    expect(await list(receipt)).toEqual([]);
  });

  test('200: a person replaces the list at the revision they read; a stale one is 409 and changes nothing', async () => {
    app.provider.answer({ text: ['Hi.'] });
    const receipt = await send(person, bot, 'hi');
    await endOf(person, receipt);
    const { revision } = (await chatOf(receipt)).chat;
    const changed = await put(receipt, { revision, items: [todo('fix', 'pending')] });
    expect(changed).toMatchObject({ status: 200, body: { chat: { id: receipt.chat, revision: revision + 1 }, status: 'Completed' } });
    expect(await put(receipt, { revision, items: [] })).toMatchObject({ status: 409, body: { _tag: 'ChatConflict', revision: revision + 1 } });
    expect(await list(receipt)).toEqual([todo('fix', 'pending')]);
  });

  test.each<[string, object, string]>([
    ['an id twice', { revision: 1, items: [todo('a', 'done'), todo('a', 'pending')] }, 'items[1].id'],
    ['two in progress', { revision: 1, items: [todo('a', 'in_progress'), todo('b', 'in_progress')] }, 'items[1].status'],
    ['another status', { revision: 1, items: [todo('a', 'open')] }, 'items[0].status'],
    ['no content', { revision: 1, items: [{ id: 'a', status: 'done' }] }, 'items[0].content'],
    ['an unknown field', { revision: 1, items: [{ ...todo('a', 'done'), note: '' }] }, 'items[0].note'],
    ['no list', { revision: 1 }, 'items'],
    ['no revision', { items: [] }, 'revision'],
    ['a revision in words', { revision: '1', items: [] }, 'revision'],
    ['an unknown field beside them', { revision: 1, items: [], commandKey: 'k' }, 'commandKey'],
  ])('400: %s is named', async (_, body, field) => {
    expect(await put({ chat: 'chat_01k0000000e00800000000000g' } as Receipt, body)).toMatchObject({ status: 400, body: { _tag: 'InvalidInput', field } });
  });
});

describe('model steps', () => {
  test('202: calls of one step run in order, and each has its result', async () => {
    const calls = [
      todosCall([todo('a', 'pending')], 'call_1'),
      { id: 'call_2', name: 'no_such_tool', arguments: '{}' },
      { id: 'call_3', name: 'openbot_todos', arguments: '{ bad' },
      todosCall([], 'call_4'),
    ];
    app.provider.answer({ calls }, { text: ['Done.'] });
    const receipt = await send(person, bot, 'work');
    await endOf(person, receipt);
    const { items } = (await person.call('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}/items?limit=100`)).body;
    const outputs = items.filter(({ content }: ShownItem) => content.type === 'function_call_output').map(({ content }: ShownItem) => [content.callId, content.status]);
    expect(outputs).toEqual([
      ['call_1', 'completed'],
      ['call_2', 'failed'],
      ['call_3', 'failed'],
      ['call_4', 'completed'],
    ]);
    const events = await eventsOf(person, receipt.executionId);
    const tools = events.filter(({ body }) => body._tag === 'ToolCall' || body._tag === 'ToolResult').map(({ body }) => `${body._tag} ${body.callId}`);
    expect(tools).toEqual(['call_1', 'call_2', 'call_3', 'call_4'].flatMap((id) => [`ToolCall ${id}`, `ToolResult ${id}`]));
  });

  test('202: a limited provider is asked again, not before it said, and the text of the attempts stays apart', async () => {
    app.provider.answer({ status: 429, headers: { 'retry-after': '1' } }, { text: ['Half '], end: 'cut' }, { text: ['Whole.'], usage: { input: 5, output: 2 } });
    const receipt = await send(person, bot, 'hello');
    const { turn, response } = await endOf(person, receipt);
    expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Whole.' }] }] });
    expect(turn).toMatchObject({ steps: 1, usage: { inputTokens: 5, outputTokens: 2 } });
    const [first, second] = app.provider.requests;
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(1_000);
    const events = (await eventsOf(person, receipt.executionId)).map(({ body }) => body);
    expect(events.filter(({ _tag }) => _tag === 'ModelAttempt').map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    const texts = (attempt: number) =>
      events
        .filter((body) => body._tag === 'Text' && body.attempt === attempt)
        .map(({ delta }) => delta)
        .join('');
    expect([texts(2), texts(3)]).toEqual(['Half ', 'Whole.']);
    const { rows } = await app.outside.query(
      `select attempt, status from usage_entry where subject_id is not null and execution_id = (select execution_id from chat_turn order by created_at desc limit 1) order by attempt`,
    );
    expect(rows).toEqual([
      { attempt: 1, status: 'unknown' },
      { attempt: 2, status: 'unknown' },
      { attempt: 3, status: 'confirmed' },
    ]);
  });

  test('202: a turn that takes all of its steps fails, with its results saved', async () => {
    const short = await app.bot(person, { maxSteps: 2 });
    app.provider.whenAsked(() => ({ calls: [todosCall([])] }));
    const receipt = await send(person, short, 'work');
    const { turn, response } = await endOf(person, receipt);
    expect(response).toMatchObject({ status: 'failed', error: { category: 'step_limit' } });
    expect(turn).toMatchObject({ steps: 2, status: { _tag: 'Failed' } });
    expect(turn.items).toHaveLength(5);
  });

  test('202: work that an API key began goes on under the key, and stops when the key is revoked', async () => {
    const { opened, open } = gate();
    const scopes = ['bots.read', 'bots.create', 'bots.delegate', 'chats.read', 'executions.read'];
    const program = await app.apiKey(person, scopes);
    const its = await app.bot(program);
    app.provider.answer({ calls: [todosCall([])] }, { calls: [todosCall([])], until: opened });
    const receipt = await send(program, its, 'work');
    await app.provider.request(2);
    expect((await person.call('DELETE', `/v1/api-keys/${program.keyId}`)).status).toBe(204);
    open();
    const ended = await eventually(
      async () => (await app.outside.query<Ended>(`select state, failure_category from execution where id = $1`, [fromPublicId('execution', receipt.executionId)])).rows[0],
      (row) => row?.state === 'failed',
    );
    expect(ended?.failure_category).toBe('identity_revoked');
    expect(app.provider.requests).toHaveLength(2);
  });

  test('202: a token that is revoked stops the work that it began', async () => {
    const { opened, open } = gate();
    app.provider.answer({ calls: [todosCall([])], until: opened });
    const receipt = await send(await app.otherToken(person), bot, 'work');
    await app.provider.request(1);
    await app.outside.query(`update credential set revoked_at = now() where member_id = $1 and id = (select author_token_id from chat_turn order by created_at desc limit 1)`, [
      uuidOf(person.memberId),
    ]);
    open();
    const { response } = await endOf(person, receipt);
    expect(response).toMatchObject({ status: 'failed', error: { category: 'identity_revoked' } });
    expect(app.provider.requests).toHaveLength(1);
  });
});
