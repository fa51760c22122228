import { Writable } from 'node:stream';
import { Logger, LoggerModule } from 'nestjs-pino';
import { loggedRoutes, logOptions } from '@platform/observability/logging.module.js';
import { faults } from './sample.js';
import { newToken } from '@platform/identity/credential-text.js';
import { startSampleApp } from './sample-app.js';
import { openTestDatabase } from '@test/support/database.js';

test('a line holds ids and codes, never what was said', async () => {
  const lines: string[] = [];
  let written = (): void => undefined;
  const sink = new Writable({
    write(chunk, _, done) {
      lines.push(...String(chunk).trim().split('\n'));
      written();
      done();
    },
  });
  const logged = async (text: string): Promise<void> => {
    while (!lines.some((line) => line.includes(text))) await new Promise<void>((resolve) => (written = resolve));
  };
  const database = await openTestDatabase();
  const logging = LoggerModule.forRoot({ forRoutes: loggedRoutes, pinoHttp: [logOptions({ logLevel: 'info', production: true }), sink] });
  const { app, url, close } = await startSampleApp(database.api, [logging]);
  try {
    app.useLogger(app.get(Logger));
    faults['bug'] = Object.assign(new Error('hunter2'), { code: 'E_BUG' });
    const failed = await fetch(`${url}/v1/samples/fault?name=bug&token=hunter2`, { headers: { authorization: 'Bearer good', cookie: 'session=hunter2' } });
    await fetch(`${url}/v1/samples`, { method: 'POST', headers: { authorization: 'Bearer hunter2', 'content-type': 'application/json' }, body: '{"commandKey":"hunter2"}' });
    // A key or token shows itself by how it begins, wherever it was put.
    for (const start of ['obt_', 'obk_'] as const) {
      const { token } = newToken('0198c0de-0000-7abc-8def-0123456789ab', start);
      await fetch(`${url}/v1/samples?key=${token}`, { headers: { authorization: `Bearer ${token}`, referer: `${url}/?key=${token}` } });
      await fetch(`${url}/v1/samples/${token}`, { headers: { authorization: 'Bearer good' } });
    }
    await logged('/v1/samples/[credential]');
    await logged('"status":500');
    await logged('"status":401');
    const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries).toContainEqual(expect.objectContaining({ level: 50, errorId: failed.headers.get('openbot-error-id'), category: 'unexpected', type: 'Error', code: 'E_BUG' }));
    expect(entries).toContainEqual(expect.objectContaining({ msg: 'request', method: 'GET', path: '/v1/samples/fault', status: 500, requestId: expect.any(String) as string }));
    expect(entries.filter(({ level }) => level === 50)).toHaveLength(1);
    expect(lines.join('\n')).not.toMatch(/hunter2|Bearer|cookie|ob[tk]_[A-Za-z0-9_-]{20}/);
  } finally {
    await close();
    await database.close();
  }
});
