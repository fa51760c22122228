import { once } from 'node:events';
import { connect } from 'node:net';
import { HealthController } from '@platform/http/health.controller.js';
import { startSampleApp } from './sample-app.js';
import { openTestDatabase } from '@test/support/database.js';

test('503: not ready while leaving, and not without a database', async () => {
  const database = await openTestDatabase();
  const [leaving, cut] = [await startSampleApp(database.api), await startSampleApp(database.worker)];
  try {
    leaving.app.get(HealthController, { strict: false }).onModuleDestroy();
    expect(await (await fetch(`${leaving.url}/health/ready`)).json()).toMatchObject({ _tag: 'NotReady', reason: 'leaving' });
    await database.worker.destroy();
    const answer = await fetch(`${cut.url}/health/ready`);
    expect({ status: answer.status, body: (await answer.json()) as object }).toMatchObject({ status: 503, body: { _tag: 'NotReady', reason: 'database' } });
    expect((await fetch(`${cut.url}/health/live`)).status).toBe(200);
  } finally {
    await leaving.close();
    await cut.close();
    await database.close();
  }
});

test.each([
  ['a list', '/v1/samples', /"items":\[\]/],
  ['a stream, which ends at once', '/v1/samples/stream', /: open\n\n/],
])('200: %s that is asked for on an open connection of a closing server is answered, and the connection ends', async (_, path, answer) => {
  const database = await openTestDatabase();
  const { app, url } = await startSampleApp(database.api);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    let got = '';
    socket.on('data', (chunk) => (got += chunk.toString()));
    const head = 'host: x\r\nauthorization: Bearer good\r\n';
    // A request that is not whole keeps its connection open.
    socket.write(`POST /v1/samples HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`);
    await once(socket, 'data');
    const closing = app.close();
    while (app.getHttpServer().listening) await new Promise((resolve) => setImmediate(resolve));
    socket.write(`{}GET ${path} HTTP/1.1\r\n${head}\r\n`);
    await Promise.all([once(socket, 'close'), closing]);
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 400', 'HTTP/1.1 200']);
    expect(got).toMatch(/connection: close/i);
    expect(got).toMatch(answer);
  } finally {
    socket.destroy();
    await database.close();
  }
});
