import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Servers that tests start for themselves, and how a machine gets them. */
const packages = { 'redis-server': 'redis-server', faketime: 'faketime', chromium: 'chromium' } as const;
export type Service = keyof typeof packages;

function programOf(service: Service): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    try {
      accessSync(join(folder, service), constants.X_OK);
      return join(folder, service);
    } catch {
      continue;
    }
  }
  return null;
}

/**
 * `describe` for tests that need a program which a bare machine may not have: skips them with the line that installs it. Under `REQUIRE_SERVICES`
 * they run and fail instead.
 */
export function describeWith(service: Service): jest.Describe {
  if (programOf(service) !== null || process.env['REQUIRE_SERVICES'] === '1') return describe;
  process.stderr.write(`skipped for want of ${service}: apt-get install ${packages[service]}\n`);
  // eslint-disable-next-line no-restricted-syntax -- a bare machine passes the tests; the whole check installs everything
  return describe.skip;
}
