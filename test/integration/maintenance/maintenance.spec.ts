import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { toPublicId } from '@platform/ids/typeid.js';
import { startTestApp } from '@test/support/app.js';
import { openTestDatabase } from '@test/support/database.js';
import { rowsOf } from '@test/support/engine.js';

test('the platform’s standing work is there once, however many servers start, and is to nobody anything but missing', async () => {
  const database = await openTestDatabase();
  const superuser = new Pool({ connectionString: database.url });
  const apps = [await startTestApp(database, { OPENBOT_NODE: 'one' }), await startTestApp(database, { OPENBOT_NODE: 'two' })];
  try {
    const found = await rowsOf<{ id: string; waits: boolean }>(superuser, `select id, runnable_at > clock_timestamp() as waits from execution where service is not null`);
    expect(found).toMatchObject([{ waits: true }]);
    const owner = await apps[0]!.createTenant();
    const [theirs, missing] = [found[0]!.id, uuidv7()].map((id) => `/v1/executions/${toPublicId('execution', id)}`) as [string, string];
    const decision = { commandKey: 'decide', call: { step: 1, name: 'call', attempt: 1 }, decision: 'stop' };
    const ways: [string, string, object?][] = [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/observe'],
      ['GET', '/wait'],
      ['GET', '/calls'],
      ['POST', '/cancel', { commandKey: 'stop' }],
      ['POST', '/decisions', decision],
    ];
    for (const [method, path, body] of ways) {
      const answer = await owner.call(method, theirs + path, body);
      expect(answer.status).toBe(404);
      expect(answer.text).toBe((await owner.call(method, missing + path, body)).text);
    }
    expect(await rowsOf(superuser, 'select cancel_number, generation, state from execution where service is not null')).toEqual([
      { cancel_number: 0, generation: 0, state: 'queued' },
    ]);
  } finally {
    for (const app of apps) await app.close();
    await superuser.end();
    await database.close();
  }
}, 60_000);
