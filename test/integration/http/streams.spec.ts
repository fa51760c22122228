import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { toPublicId } from '@platform/ids/typeid.js';
import { streams } from './sample.js';
import { startSampleApp, type SampleApp } from './sample-app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: SampleApp;
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startSampleApp(database.api);
});
afterAll(async () => {
  await app.close();
  await database.close();
});

async function open() {
  const request = get(`${app.url}/v1/samples/stream`, { headers: { authorization: 'Bearer good' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const opened = streams.at(-1);
  if (!opened) throw new Error('no stream was opened');
  return { response, ...opened };
}
async function rest(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}
const closing = (signal: AbortSignal): Promise<unknown> => (signal.aborted ? Promise.resolve() : once(signal, 'abort'));

test('events arrive with their ids, then the stream ends', async () => {
  const { response, stream } = await open();
  expect(response.statusCode).toBe(200);
  expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  await stream.send(1, 'execution', { text: 'line\nline', emoji: '🧑‍🚀' });
  await stream.send(2, 'execution', {});
  stream.end();
  expect(await rest(response)).toBe(': open\n\nid: 1\nevent: execution\ndata: {"text":"line\\nline","emoji":"🧑‍🚀"}\n\nid: 2\nevent: execution\ndata: {}\n\n');
  expect(stream.closed.aborted).toBe(true);
  await stream.send(3, 'execution', {});
});

test('a fault after the start is an event with the fields of RequestFailed', async () => {
  const { response, stream } = await open();
  const errorId = uuidv7();
  stream.fail({ category: 'storage_unavailable', errorId });
  const text = await rest(response);
  expect(text.split('\n')[2]).toBe('event: failure');
  expect(JSON.parse(text.split('\n')[3]?.slice('data: '.length) ?? '')).toMatchObject({
    _tag: 'RequestFailed',
    category: 'storage_unavailable',
    errorId: toPublicId('error', errorId),
  });
  stream.fail({ category: 'again', errorId });
});

test('a client that leaves closes the stream', async () => {
  const { response, stream } = await open();
  response.destroy();
  await closing(stream.closed);
  await stream.send(1, 'execution', {});
});

test('a slow client holds the sender back, so that at most one event waits in memory, and loses nothing', async () => {
  const { response, stream, reply } = await open();
  const [count, filler] = [400, 'x'.repeat(100_000)];
  let [largest, hold] = [0, (): void => undefined];
  const held = new Promise<void>((resolve) => (hold = resolve));
  const sending = (async () => {
    for (let sent = 0; sent < count; sent += 1) {
      const taken = stream.send(sent, 'execution', filler);
      largest = Math.max(largest, reply.raw.writableLength);
      if (reply.raw.writableNeedDrain) hold();
      await taken;
    }
    stream.end();
  })();
  await held;
  const text = await rest(response);
  await sending;
  expect(text.match(/^id: /gm)).toHaveLength(count);
  expect(largest).toBeLessThan(2 * filler.length);
});

test('a sender that does not wait cannot fill the memory: the client is cut off', async () => {
  const { response, stream } = await open();
  response.pause();
  response.on('error', () => undefined);
  const filler = 'x'.repeat(200_000);
  for (let i = 0; i < 200 && !stream.closed.aborted; i += 1) void stream.send(i, 'execution', filler);
  await closing(stream.closed);
});

test('a closing server ends its streams', async () => {
  const own = await startSampleApp(database.worker);
  const request = get(`${own.url}/v1/samples/stream`, { headers: { authorization: 'Bearer good' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const [text] = await Promise.all([rest(response), own.close()]);
  expect(text).toBe(': open\n\n');
});
