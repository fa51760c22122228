import { PrivateServer } from '@platform/private/private-server.js';
import { startTestApp, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { eventually } from '@test/support/eventually.js';
import { toPublicId } from '@platform/ids/typeid.js';

let database: TestDatabase;
let superuser: Pool;
let app: TestApp;
let url: string;

const portOf = ({ nest }: TestApp): number | null => nest.get(PrivateServer, { strict: false }).port;
const get = async (path: string, init?: RequestInit) => {
  const answer = await fetch(url + path, init);
  return { status: answer.status, text: await answer.text() };
};

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
  app = await startTestApp(database, { OPENBOT_PRIVATE_PORT: '0', OPENBOT_NODE: 'private', OPENBOT_LEASE_MS: '3000' });
  url = `http://127.0.0.1:${portOf(app)}`;
});
afterAll(async () => {
  await app?.close();
  await superuser?.end();
  await database?.close();
});

test('it answers what operators ask, and nothing else', async () => {
  expect(await get('/health/live')).toMatchObject({ status: 200, text: '{"status":"live"}' });
  expect((await get('/health/ready')).status).toBe(200);
  expect((await get('/v1/me')).status).toBe(404);
  const refused = await fetch(`${url}/doctor`, { method: 'POST' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect(await get('/metrics', { method: 'HEAD' })).toEqual({ status: 200, text: '' });
  expect((await get('/metrics')).text).toContain('openbot_slots 200');
});

test('what it answers is nowhere on the public listener', async () => {
  for (const path of ['/metrics', '/doctor']) expect((await app.as(null)('GET', path)).status).toBe(404);
});

test('the doctor is well, and finds what this node owns and does not run', async () => {
  const well = JSON.parse((await get('/doctor')).text) as { exitCode: number; node: string; findings: { verdict: string }[] };
  expect(well).toMatchObject({ exitCode: 0, node: 'private' });
  expect(well.findings.every(({ verdict }) => verdict === 'well')).toBe(true);

  // The node gives it back once in a lease: a look that came too late for one finds the next.
  const { id, report } = await eventually(
    async () => {
      const planted = await plantStray();
      return { id: planted, report: JSON.parse((await get('/doctor')).text) as { exitCode: number; findings: { name: string; verdict: string }[] } };
    },
    (seen) => seen.report.exitCode === 1,
    30_000,
  );
  expect(report.findings.filter(({ verdict }) => verdict === 'act')).toMatchObject([{ name: 'owned-but-unknown-to-owner', count: 1, examples: [toPublicId('execution', id)] }]);
});

async function plantStray(): Promise<string> {
  const id = uuidv7();
  await superuser.query(
    `insert into execution (id, organization_id, project_id, workflow, workflow_version, sequence, state, owner, epoch, claim_id, generation)
     select $1, $1, $1, 'lost', 1, 0, 'running', name, epoch, gen_random_uuid(), 1 from node where name = 'private'`,
    [id],
  );
  return id;
}

test('without its port nobody listens', async () => {
  const api = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  expect(portOf(api)).toBeNull();
  await api.close();
});
