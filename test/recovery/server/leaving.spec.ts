import { openSse } from '@test/integration/executions/sse-client.js';
import { eventually } from '@test/support/eventually.js';
import type { ServerRun } from '@test/support/server-process.js';
import { endedExecution, eventsOf, itemsOf, openServerWorld, sendMessage, textOf, upTo, type Receipt, type ServerWorld } from './server-world.js';

/** The default. */
const leaseMs = 10_000;
const deltas = (request: number): string[] => upTo(10).map((part) => `${request}.${part} `);

// Every test starts processes, and a busy machine takes its time for that.
jest.setTimeout(120_000);

let world: ServerWorld;
const start = async (node: string, env: Record<string, string> = {}): Promise<ServerRun> =>
  (await world.place({ node, env: { OPENBOT_LEASE_MS: String(leaseMs), ...env } })).start();

beforeAll(async () => {
  world = await openServerWorld();
});
afterAll(() => world.close());

async function startTurn(server: ServerRun, first: { readonly pauseMs?: number; readonly end?: 'hold' }): Promise<Receipt> {
  world.provider.reset();
  world.provider.whenAsked(() => ({ text: deltas(world.provider.requests.length), ...(world.provider.requests.length === 1 ? first : {}) }));
  const receipt = await sendMessage(server.local, 'Please');
  await world.text(receipt);
  return receipt;
}

async function expectAnswer(server: ServerRun, receipt: Receipt, request: number): Promise<void> {
  expect(await endedExecution(server.local, receipt)).toMatchObject({ state: 'completed', failure: null });
  const events = await eventsOf(server.local, receipt);
  expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
  const own = (await itemsOf(server.local, receipt.chat)).filter(({ origin }) => origin.turn === receipt.turn);
  expect(own.map(({ content }) => textOf(content))).toEqual(['Please', deltas(request).join('')]);
  expect(world.provider.requests).toHaveLength(request);
}

const usageStates = async (receipt: Receipt): Promise<string[]> =>
  (await world.rows('select status from usage_entry where execution_id = $1 order by step, attempt', [world.uuid(receipt)])).map(({ status }) => status as string);

test('told to stop in mid-stream: the step is finished within the grace period, handed over and ended by another; observers go on there', async () => {
  const leaver = await start('leaver');
  const receipt = await startTurn(leaver, { pauseMs: 100 });
  const observer = await openSse(`${leaver.local.url}/v1/executions/${receipt.executionId}/observe`, leaver.local.token);
  await eventually(() => observer.frames.length, Boolean);
  leaver.signal('SIGTERM');
  const [exit, heir] = await Promise.all([leaver.exited, start('heir')]);
  expect(exit).toEqual({ code: 0, signal: null });
  await observer.ended;
  await expectAnswer(heir, receipt, 1);
  expect(await usageStates(receipt)).toEqual(['unknown']);

  const seen = observer.frames.filter(({ event }) => event === 'execution').map(({ id }) => Number(id));
  const resumed = await openSse(`${heir.local.url}/v1/executions/${receipt.executionId}/observe`, heir.local.token, { 'last-event-id': String(seen.at(-1) ?? 0) });
  await resumed.ended;
  const all = [...seen, ...resumed.frames.map(({ id }) => Number(id))];
  expect(all).toEqual(upTo((await eventsOf(heir.local, receipt)).length));
  heir.signal('SIGTERM');
  expect(await heir.exited).toEqual({ code: 0, signal: null });
});

test('told to stop with a step that outlasts the grace period: the step is aborted, nothing is lost, the next server repeats it', async () => {
  const leaver = await start('leaver', { OPENBOT_GRACE_MS: '300' });
  const receipt = await startTurn(leaver, { end: 'hold' });
  leaver.signal('SIGTERM');
  expect(await leaver.exited).toEqual({ code: 0, signal: null });
  expect(await world.provider.requests[0]!.closed).toBe('aborted');
  expect(await world.rows('select state, owner, stalls, runnable_at from execution where id = $1', [world.uuid(receipt)])).toEqual([
    { state: 'running', owner: null, stalls: 0, runnable_at: -Infinity },
  ]);
  const heir = await start('heir');
  await expectAnswer(heir, receipt, 2);
  expect(await usageStates(receipt)).toEqual(['unknown', 'unknown']);
  heir.signal('SIGTERM');
  await heir.exited;
});

const endedMsAfter = async (receipt: Receipt, since: Date): Promise<number> =>
  Number((await world.rows('select extract(epoch from ended_at - $2::timestamptz) * 1000 as ms from execution where id = $1', [world.uuid(receipt), since]))[0].ms);
const databaseTime = async (): Promise<Date> => (await world.rows('select clock_timestamp() as at'))[0].at as Date;

test('killed with the default lease: another server finishes within ten seconds and one', async () => {
  const [victim, heir] = await Promise.all([start('victim'), start('heir')]);
  const receipt = await startTurn(victim, { end: 'hold' });
  const [{ owner }] = (await world.rows('select owner from execution where id = $1', [world.uuid(receipt)])) as [{ owner: string }];
  const [killed, survivor] = owner === 'victim' ? [victim, heir] : [heir, victim];
  const at = await databaseTime();
  killed.signal('SIGKILL');
  await killed.exited;
  await expectAnswer(survivor, receipt, 2);
  const took = await endedMsAfter(receipt, at);

  // What a turn takes on this machine at this moment is not the lease's.
  const since = await databaseTime();
  const next = await sendMessage(survivor.local, 'And again');
  await endedExecution(survivor.local, next);
  const turnMs = await endedMsAfter(next, since);
  console.info(`ended ${Math.round(took)} ms after the kill, with a lease of ${leaseMs} ms; a turn takes ${Math.round(turnMs)} ms here`);
  expect(took).toBeLessThanOrEqual(leaseMs + 5_000 + turnMs);
});
