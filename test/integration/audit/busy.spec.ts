import { LongReads } from '@contexts/audit/long-reads.js';
import type { Caller } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { organizationAudit, startAuditApp, type AuditApp } from './audit-app.js';

let world: AuditApp;
let owner: Caller;
/** Lets the page go that is held back. */
let release: () => void;

beforeAll(async () => {
  world = await startAuditApp();
});
beforeEach(async () => {
  owner = await world.app.createTenant();
  await world.linked();
  void world.app.nest.get(LongReads).page(() => new Promise<void>((done) => (release = done)));
});
afterEach(() => release());
afterAll(() => world.close());

const verify = (query = '', by = owner) => by.call('GET', `${organizationAudit}/verify${query}`);
const hash = (digit: number): string => String(digit).repeat(64);
const busy = { status: 503, body: { _tag: 'AuditBusy', retryAfterMs: 2_000 } };

test('forty who verify one log are answered together, and meanwhile everybody else as ever', async () => {
  const asked = Array.from({ length: 40 }, () => verify());
  const other = await world.app.createTenant();
  expect((await other.call('GET', '/v1/me')).status).toBe(200);
  release();
  const answers = await Promise.all(asked);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 200, body: { ok: true, unlinked: 0 } });
});

test('503: a fifth log at once is for later', async () => {
  const asked = [1, 2, 3, 4].map((digit) => verify(`?length=1&head=${hash(digit)}`));
  await eventually(async () => (await verify(`?length=1&head=${hash(5)}`)).status === 503);
  expect(await verify(`?length=1&head=${hash(6)}`)).toMatchObject(busy);
  release();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await verify()).status).toBe(200);
});

test('503: a third export of one principal at once is for later, and one that is left makes room', async () => {
  const url = `${world.app.url}${organizationAudit}/export`;
  const headers = { authorization: `Bearer ${owner.token}` };
  const leave = new AbortController();
  const left = fetch(url, { headers, signal: leave.signal }).catch(() => null);
  const kept = fetch(url, { headers });
  const other = await world.app.createTenant();
  await eventually(async () => {
    const gone = new AbortController();
    const third = fetch(url, { headers, signal: gone.signal }).catch(() => null);
    // One that is let in waits for its first page.
    const answer = await Promise.race([third, other.call('GET', '/v1/me').then(() => null)]);
    gone.abort();
    return answer?.status === 503;
  });
  leave.abort();
  await left;
  release();
  expect((await (await kept).text()).trim().split('\n').at(-1)).toContain('"head"');
  await eventually(async () => (await fetch(url, { headers })).status === 200);
});
