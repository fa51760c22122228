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
