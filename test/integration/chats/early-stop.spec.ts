import { eventually } from '@test/support/eventually.js';
import { endOf, eventsOf, inputsOf, newKey, send, startChatApp, textsOf, uuidOf, type ChatApp, type Person } from './chat-app.js';

// The API alone: what is admitted stays as it is until a worker comes.
let app: ChatApp;
let person: Person;
let bot: string;
beforeAll(async () => {
  app = await startChatApp({ OPENBOT_ROLES: 'api' });
  person = await app.person();
  bot = await app.bot(person);
});
afterAll(() => app.close());

test('a turn that is stopped before it begins keeps the inputs it was made for; what came after the stop is the next turn’s', async () => {
  const first = await send(person, bot, 'never begun');
  const joined = await send(person, bot, 'with it', { queue: true });
  expect(joined).toMatchObject({ turn: first.turn, sequence: 3 });
  expect((await person.call('GET', `/v1/chats/${first.chat}`)).body).toMatchObject({ status: 'Running', turn: { id: first.turn, startedAt: null }, inbox: 0 });
  const stop = await person.call('POST', `/v1/chats/${first.chat}/interrupt`, { commandKey: newKey() });
  const after = await send(person, bot, 'after the stop');
  expect(after.turn).not.toBe(first.turn);

  app.provider.whenAsked(() => ({ text: ['Answer.'] }));
  await app.start({ OPENBOT_NODE: 'late-worker' });
  await endOf(person, after);
  const { turn, response } = await endOf(person, first);
  expect({ turn, response }).toMatchObject({ turn: { status: { _tag: 'Interrupted' }, steps: 0 }, response: { status: 'cancelled', output: [] } });
  expect(await inputsOf(person, first)).toEqual(['never begun', 'with it']);
  expect(await inputsOf(person, after)).toEqual(['after the stop']);
  expect(turn.input).toHaveLength(2);
  const log = (await eventsOf(person, first.executionId)).map(({ sequence, body }) => `${sequence} ${body._tag} ${body.state ?? ''}`.trim());
  expect(log).toEqual(['1 State queued', '2 Input', '3 Input', '4 State cancelling', '5 Item', '6 Item', '7 Result', '8 State cancelled']);
  await eventually(async () => (await person.call('GET', `/v1/executions/${stop.body.executionId}`)).body.state === 'completed');
  expect(app.provider.requests).toHaveLength(1);
  const { items } = (await person.call('GET', `/v1/chats/${first.chat}/items`)).body;
  expect(textsOf(items).reverse()).toEqual(['never begun', 'with it', 'after the stop', 'Answer.']);
});

test('a commit of a turn that does not advance, or that miscounts the items, is refused as bad data', async () => {
  const receipt = await send(person, bot, 'once more');
  await endOf(person, receipt);
  const { rows } = await app.outside.query<{ id: string; chat_id: string; execution_id: string }>(
    `select id, chat_id, execution_id from chat_turn where chat_id = $1 order by created_at desc limit 1`,
    [uuidOf(receipt.chat)],
  );
  const [turn] = rows;
  const write = (change: object) =>
    app.outside.query(`select feature_rows_chat(head, $2, $3::jsonb) from execution head where head.id = $1`, [
      turn!.execution_id,
      turn!.chat_id,
      JSON.stringify({ turn: turn!.id, steps: 1, usage: null, ...change }),
    ]);
  await expect(write({})).rejects.toMatchObject({ code: '23000', message: expect.stringContaining('does not advance') });
  await app.outside.query(`update chat set running_turn_id = $2 where id = $1`, [turn!.chat_id, turn!.id]);
  const item = { id: turn!.id, step: 1, content: '' };
  await expect(write({ itemCount: 0, items: [item] })).rejects.toMatchObject({ code: '23000', message: expect.stringContaining('not 0') });
  await expect(app.outside.query(`select feature_rows_chat(head, $2, '{}') from execution head where head.id = $1`, [turn!.execution_id, turn!.id])).rejects.toMatchObject({
    code: '23000',
  });
  await app.outside.query(`update chat set running_turn_id = null where id = $1`, [turn!.chat_id]);
});
