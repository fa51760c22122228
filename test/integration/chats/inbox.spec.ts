import { endOf, eventsOf, gate, inputsOf, newKey, send, startChatApp, textsOf, type ChatApp, type Person, type Receipt } from './chat-app.js';
import { eventually } from '@test/support/eventually.js';

let app: ChatApp;
let person: Person;
let phone: Person;
let bot: string;
beforeAll(async () => {
  app = await startChatApp();
});
afterAll(() => app.close());
beforeEach(async () => {
  app.provider.reset();
  person = await app.person();
  phone = await app.otherToken(person);
  bot = await app.bot(person);
});

/** A turn whose model has been asked and answers when the gate opens. */
async function runningTurn(answer: object = { text: ['First.'] }): Promise<{ receipt: Receipt; open: () => void }> {
  const { opened, open } = gate();
  app.provider.answer({ ...answer, until: opened });
  const receipt = await send(person, bot, 'first');
  await app.provider.request(1);
  return { receipt, open };
}

const chatOf = async ({ chat }: Receipt) => (await person.call('GET', `/v1/chats/${chat}`)).body;

test('202: the same author steers the running turn; its next model step reads it', async () => {
  const { receipt, open } = await runningTurn({ calls: [{ id: 'call_1', name: 'openbot_todos', arguments: '{}' }] });
  app.provider.answer({ text: ['Both.'] });
  const steer = await send(person, bot, 'and second');
  expect(steer).toMatchObject({ chat: receipt.chat, turn: receipt.turn, executionId: receipt.executionId });
  expect(steer.sequence).toBeGreaterThan(receipt.sequence);
  open();
  const { turn } = await endOf(person, receipt);
  expect(turn).toMatchObject({ status: { _tag: 'Completed' }, steps: 2 });
  expect(await inputsOf(person, receipt)).toEqual(['first', 'and second']);
  expect(app.provider.requests[1]!.text).toContain('and second');

  const events = await eventsOf(person, receipt.executionId);
  expect(events.find(({ sequence }) => sequence === steer.sequence)!.body).toMatchObject({ _tag: 'Input', turn: receipt.turn });
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
});

test('202: an unread steer goes back to the inbox and starts the next turn', async () => {
  const { receipt, open } = await runningTurn();
  app.provider.answer({ text: ['Second.'] });
  const steer = await send(person, bot, 'too late');
  expect(steer.turn).toBe(receipt.turn);
  open();
  await endOf(person, receipt);
  const moved = (await eventsOf(person, receipt.executionId)).find(({ body }) => body._tag === 'InputMoved')!.body;
  const input = (await eventsOf(person, receipt.executionId)).find(({ sequence }) => sequence === steer.sequence)!.body.input;
  expect(moved).toEqual({ _tag: 'InputMoved', input, turn: expect.stringMatching(/^turn_/), executionId: expect.stringMatching(/^exec_/) });

  const next = { ...receipt, turn: moved.turn, executionId: moved.executionId };
  expect((await endOf(person, next)).response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Second.' }] }] });
  expect(await inputsOf(person, receipt)).toEqual(['first']);
  expect(await inputsOf(person, next)).toEqual(['too late']);
  expect((await eventsOf(person, next.executionId))[1]!.body).toEqual({ _tag: 'Input', input, turn: next.turn });
});

test('202: queue: true waits for a turn of its own, and what waits of one author is read together', async () => {
  const { receipt, open } = await runningTurn();
  app.provider.answer({ text: ['Later.'] });
  const later = await send(person, bot, 'later', { queue: true });
  const too = await send(person, bot, 'this too', { queue: true });
  expect(later.turn).not.toBe(receipt.turn);
  expect(later.sequence).toBe(2);
  expect(too).toMatchObject({ turn: later.turn, executionId: later.executionId, sequence: 3 });
  expect(await chatOf(receipt)).toMatchObject({ status: 'Running', inbox: 2, turn: { id: receipt.turn } });
  expect((await person.call('GET', `/v1/chats/${receipt.chat}/turns`)).body.items).toHaveLength(1);
  expect((await person.call('GET', `/v1/chats/${receipt.chat}/turns/${later.turn}`)).status).toBe(404);
  open();
  await endOf(person, later);
  expect(await inputsOf(person, later)).toEqual(['later', 'this too']);
  expect(await chatOf(receipt)).toMatchObject({ status: 'Completed', inbox: 0, turn: { id: later.turn } });
});

test('202: another token of the same person is another author, waits, and runs after the turn', async () => {
  const { receipt, open } = await runningTurn();
  app.provider.answer({ text: ['For the phone.'] });
  const other = await send(phone, bot, 'from the phone');
  expect(other.chat).toBe(receipt.chat);
  expect(other.turn).not.toBe(receipt.turn);
  open();
  await endOf(person, other);
  expect(await inputsOf(person, receipt)).toEqual(['first']);
  expect(await inputsOf(person, other)).toEqual(['from the phone']);
  const { items } = (await person.call('GET', `/v1/chats/${receipt.chat}/turns`)).body;
  expect(items.map(({ id }: { id: string }) => id)).toEqual([receipt.turn, other.turn]);
});

test('202: turns start in the order of their first inputs; a returned steer keeps its place', async () => {
  const { receipt, open } = await runningTurn();
  app.provider.whenAsked(() => ({ text: ['Next.'] }));
  const steer = await send(person, bot, 'steer');
  const other = await send(phone, bot, 'phone');
  expect(steer.turn).toBe(receipt.turn);
  open();
  await endOf(person, other);
  const { items } = (await person.call('GET', `/v1/chats/${receipt.chat}/items`)).body;
  expect(textsOf(items).reverse()).toEqual(['first', 'First.', 'steer', 'Next.', 'phone', 'Next.']);
});

test('202: a returned steer joins what its author has waiting, before it', async () => {
  const { receipt, open } = await runningTurn();
  app.provider.whenAsked(() => ({ text: ['Next.'] }));
  await send(person, bot, 'steer');
  const queued = await send(person, bot, 'queued', { queue: true });
  open();
  await endOf(person, queued);
  expect(await inputsOf(person, queued)).toEqual(['steer', 'queued']);
  expect(await inputsOf(person, receipt)).toEqual(['first']);
});

test('202: a turn that fails lets the next one start', async () => {
  const { receipt, open } = await runningTurn();
  app.provider.reset();
  const { opened, open: fail } = gate();
  open();
  await endOf(person, receipt);
  app.provider.answer({ status: 400 });
  app.provider.whenAsked(null);
  const failing = await send(person, bot, 'failing');
  const { response } = await endOf(person, failing);
  expect(response).toMatchObject({ status: 'failed', error: { category: 'model_rejected', errorId: expect.stringMatching(/^err_/) } });
  expect(await chatOf(receipt)).toMatchObject({ status: 'Failed' });
  app.provider.answer({ text: ['Again.'], until: opened });
  const again = await send(person, bot, 'again');
  fail();
  expect((await endOf(person, again)).response.status).toBe('completed');
});

describe('interrupt', () => {
  const interrupt = (receipt: Receipt, body: object = {}) => person.call('POST', `/v1/chats/${receipt.chat}/interrupt`, { commandKey: newKey(), ...body });
  const completed = (executionId: string) =>
    eventually(
      async () => (await person.call('GET', `/v1/executions/${executionId}`)).body.state as string,
      (state) => state === 'completed',
    );

  test('202: the running turn stops, the receipt is over when it has, and the next input starts the next turn', async () => {
    app.provider.answer({ text: ['Half '], end: 'hold' });
    const receipt = await send(person, bot, 'first');
    await app.provider.request(1);
    const queued = await send(person, bot, 'next', { queue: true });
    app.provider.answer({ text: ['Next.'] });
    const stop = await interrupt(receipt);
    expect(stop).toMatchObject({ status: 202, body: { executionId: expect.stringMatching(/^exec_/), sequence: 1, chat: receipt.chat, turn: receipt.turn } });
    await completed(stop.body.executionId);
    const { turn, response } = (await person.call('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}`)).body;
    expect({ turn, response }).toMatchObject({ turn: { status: { _tag: 'Interrupted' } }, response: { status: 'cancelled', output: [] } });
    expect(await app.provider.requests[0]!.closed).toBe('aborted');
    expect((await endOf(person, queued)).response.status).toBe('completed');
  });

  test('202: without a running turn it is over at once and the chat stays as it is', async () => {
    app.provider.answer({ text: ['Done.'] });
    const receipt = await send(person, bot, 'first');
    await endOf(person, receipt);
    const before = (await person.call('GET', `/v1/chats/${receipt.chat}`)).text;
    const stop = await interrupt(receipt, { delegations: true });
    expect(stop).toMatchObject({ status: 202, body: { turn: null } });
    await completed(stop.body.executionId);
    expect((await person.call('GET', `/v1/chats/${receipt.chat}`)).text).toBe(before);
  });

  test('202: twice with one key is one stop; it never reaches a later turn', async () => {
    app.provider.answer({ text: ['Half '], end: 'hold' });
    const receipt = await send(person, bot, 'first');
    await app.provider.request(1);
    const body = { commandKey: newKey() };
    const [one, two] = await Promise.all([interrupt(receipt, body), interrupt(receipt, body)]);
    const other = await interrupt(receipt);
    expect(two!.text).toBe(one!.text);
    await Promise.all([completed(one!.body.executionId), completed(other.body.executionId)]);
    app.provider.answer({ text: ['Later.'] });
    const later = await send(person, bot, 'later');
    expect((await interrupt(receipt, body)).text).toBe(one!.text);
    expect((await endOf(person, later)).response.status).toBe('completed');
    expect(await interrupt(receipt, { ...body, delegations: true })).toMatchObject({ status: 409, body: { _tag: 'ExecutionKeyConflict' } });
  });

  test('202: a turn that is stopped before it begins keeps its input, and starts no other', async () => {
    const { receipt, open } = await runningTurn();
    const queued = await send(person, bot, 'queued', { queue: true });
    // Its execution is cancelled while it waits: as if it had been taken back.
    const cancelled = await person.call('POST', `/v1/executions/${queued.executionId}/cancel`, { commandKey: newKey() });
    expect(cancelled.status).toBe(202);
    await endOf(person, queued);
    open();
    await endOf(person, receipt);
    expect(await chatOf(receipt)).toMatchObject({ inbox: 0 });
    expect(app.provider.requests).toHaveLength(1);
    const { items } = (await person.call('GET', `/v1/chats/${receipt.chat}/items`)).body;
    expect(textsOf(items).reverse()).toEqual(['first', 'First.']);
  });
});
