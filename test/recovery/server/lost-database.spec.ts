import { setTimeout as pause } from 'node:timers/promises';
import { openSse } from '@test/integration/executions/sse-client.js';
import { eventually } from '@test/support/eventually.js';
import type { ServerRun } from '@test/support/server-process.js';
import { startTcpProxy, type TcpProxy } from '@test/support/tcp-proxy.js';
import { endedExecution, eventsOf, itemsOf, openServerWorld, request, sendMessage, textOf, upTo, type ServerWorld } from './server-world.js';

jest.setTimeout(120_000);

const awayMs = 5_000;
const deltas = (asked: number): string[] => upTo(30).map((part) => `${asked}.${part} `);

let world: ServerWorld;
let api: TcpProxy;
let worker: TcpProxy;
let server: ServerRun;

beforeAll(async () => {
  world = await openServerWorld();
  [api, worker] = await Promise.all([startTcpProxy(world.database.apiUrl), startTcpProxy(world.database.workerUrl)]);
  server = await (await world.place({ node: 'alone', urls: { apiUrl: api.url, workerUrl: worker.url } })).start();
});
afterAll(async () => {
  await world.close();
  await Promise.all([api.close(), worker.close()]);
});

/** Every connection ends with the first byte that would pass. */
const cutEverything = (): void => {
  for (const proxy of [api, worker]) {
    proxy.through(() => (chunk) => ({ pass: chunk.subarray(0, 0), cut: true }));
    proxy.cutAll();
  }
};
const letThrough = (): void => {
  for (const proxy of [api, worker]) proxy.through(null);
};

test('the database goes away for five seconds: 503 with an error id, streams resume from their cursor, the running turn completes', async () => {
  world.provider.whenAsked(() => ({ text: deltas(world.provider.requests.length), pauseMs: 50 }));
  const { local } = server;
  const receipt = await sendMessage(local, 'Please');
  const path = `/v1/executions/${receipt.executionId}/observe`;
  const seen: number[] = [];
  let stream = await openSse(local.url + path, local.token);
  await world.text(receipt);

  cutEverything();
  const back = pause(awayMs);
  const reading = await request(local, 'GET', '/v1/me');
  expect(reading).toMatchObject({ status: 503, body: { _tag: 'RequestFailed', category: 'storage_unavailable', errorId: expect.stringMatching(/^err_/) } });
  expect(reading.headers.get('openbot-error-id')).toBe(reading.body.errorId);
  expect(reading.headers.get('retry-after')).toBe('1');
  const body = { input: 'While it is away', commandKey: 'while-away' };
  const sending = await request(local, 'POST', `/v1/bots/${local.botId}/messages`, body);
  expect(sending).toMatchObject({ status: 503, body: { category: 'storage_unavailable', errorId: expect.stringMatching(/^err_/) } });
  expect([sending.headers.get('openbot-error-id'), sending.headers.get('retry-after')]).toEqual([sending.body.errorId, '1']);
  for (const { text } of [reading, sending]) expect(text).not.toMatch(/ECONN|Connection|terminated|postgres|at .*\.(ts|js)/);
  expect((await request(local, 'GET', '/health/ready')).status).toBe(503);
  expect((await request(local, 'GET', '/health/live')).status).toBe(200);
  await back;
  letThrough();

  // As a client does it: the same cursor again until the end state is read.
  const take = (): void => void seen.push(...stream.frames.filter(({ event }) => event === 'execution').map(({ id }) => Number(id)));
  const hasEnd = (): boolean => stream.frames.some(({ data }) => /"state":"(completed|failed)"/.test(data));
  for (await stream.ended; !hasEnd(); await stream.ended) {
    take();
    stream = await eventually(() => openSse(local.url + path, local.token, { 'last-event-id': String(seen.at(-1) ?? 0) }), ({ status }) => status === 200); // prettier-ignore
  }
  take();
  expect(await endedExecution(local, receipt)).toMatchObject({ state: 'completed', failure: null });
  expect(seen).toEqual(upTo((await eventsOf(local, receipt)).length));

  const again = await eventually(() => request(local, 'POST', `/v1/bots/${local.botId}/messages`, body), ({ status }) => status !== 503); // prettier-ignore
  expect(again.status).toBe(202);
  expect(await endedExecution(local, again.body)).toMatchObject({ state: 'completed' });
  const texts = (await itemsOf(local, receipt.chat)).map(({ content }) => textOf(content));
  expect(texts.filter((text) => /^(Please|While)/.test(text))).toEqual(['Please', 'While it is away']);
  // What could not be written then is written now, under the id that the client has.
  await eventually(async () => (await world.rows('select count(*)::int as count from error_record'))[0].count as number, (count) => count >= 2); // prettier-ignore
  expect(await world.rows('select id from execution where member_id is not null and (owner is not null or ended_at is null)')).toEqual([]);
});
