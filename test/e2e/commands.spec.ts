import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { toPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { startTestApp, type TestApp } from '@test/support/app.js';
import { builtServer } from '@test/support/built-server.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

type Ended = { readonly code: number | null; readonly out: string; readonly errors: string };

let built: string;
let folder: string;
let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  [built, folder, database] = await Promise.all([builtServer(), mkdtemp(join(tmpdir(), 'openbot-commands-')), openTestDatabase()]);
  app = await startTestApp(database, { NODE_ENV: 'production' });
}, 120_000);
afterAll(async () => {
  await app?.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The program's command line in production, as an operator uses it. */
const run = (...args: string[]): Promise<Ended> => runIn({}, ...args);

async function runIn(settings: Readonly<Record<string, string>>, ...args: string[]): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    OPENBOT_LEASE_MS: '1500',
    DATABASE_URL: database.url,
    DATABASE_API_URL: database.apiUrl,
    DATABASE_WORKER_URL: database.workerUrl,
    OPENBOT_ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    ...settings,
  };
  const child = spawn(process.execPath, [join(built, 'src', 'cli.js'), ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.errors += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

test('create-organization: the printed token enters as the owner of a new organization', async () => {
  const { code, out, errors } = await run('create-organization', '--name', 'Example Ltd', '--owner', 'Ada Lovelace', '--email=ada@example.com');
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  const made = JSON.parse(out) as { organizationId: string; projectId: string; memberId: string; token: string };
  const call = app.as(made.token);
  expect((await call('GET', '/v1/me')).body).toMatchObject({
    id: made.memberId,
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    role: 'owner',
    organization: made.organizationId,
    project: made.projectId,
  });
  expect((await call('GET', '/v1/organization')).body).toMatchObject({ id: made.organizationId, name: 'Example Ltd' });
});

test('create-organization: a name that is taken is given again on demand alone', async () => {
  const wanted = ['create-organization', '--name', 'Twice Ltd', '--owner', 'Ada'];
  // The first in the place of a server whose private port is open.
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const first = await runIn({ OPENBOT_PRIVATE_PORT: String((server.address() as AddressInfo).port) }, ...wanted);
  expect(first).toMatchObject({ code: 0, errors: '' });
  server.close();
  const before = await organizations();
  const refused = await run(...wanted.map((word) => (word === 'Twice Ltd' ? 'twice ltd' : word)));
  expect(refused).toMatchObject({ code: 1, out: '', errors: 'There is an organization named "twice ltd": give --another to make one more of that name.\n' });
  expect(await organizations()).toBe(before);
  const another = await run(...wanted, '--another');
  expect(another).toMatchObject({ code: 0, errors: '' });
  expect(await organizations()).toBe(before + 1);
  expect((JSON.parse(another.out) as { organizationId: string }).organizationId).not.toBe((JSON.parse(first.out) as { organizationId: string }).organizationId);
}, 30_000);

test('help: what there is, in lines, and the exit code is 0', async () => {
  const [asked, ofCommand] = await Promise.all([run('--help'), run('error', '--help')]);
  expect(asked).toMatchObject({ code: 0, errors: '' });
  for (const name of ['migrate', 'create-organization', 'error', 'doctor', 'lease']) expect(asked.out).toMatch(new RegExp(`^  ${name}`, 'm'));
  expect(ofCommand).toEqual(asked);
});

test('error: the cause of a record opens, of an organization and of the platform', async () => {
  const tenant = await app.createTenant();
  const records = app.nest.get(ErrorRecords);
  const [tenants, platforms] = [tenant.organizationId, null].map((organizationId) => records.record(new Error(`broken in ${organizationId}`), { organizationId }));
  await records.flush(10_000);
  for (const [failure, organizationId] of [
    [tenants!, tenant.organizationId],
    [platforms!, null],
  ] as const) {
    const errorId = toPublicId('error', failure.errorId);
    const { code, out, errors } = await run('error', errorId);
    const byRow = await run('error', failure.errorId);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(byRow).toEqual({ code, out, errors });
    expect(JSON.parse(out)).toMatchObject({
      errorId,
      category: 'unexpected',
      organization: organizationId && toPublicId('organization', organizationId),
      cause: { name: 'Error', message: `broken in ${organizationId}`, stack: expect.stringContaining('commands.spec') as string },
    });
  }
});

test('neither login finds a record without its organization, and the owner does', async () => {
  const failure = app.nest.get(ErrorRecords).record(new Error('x'), { organizationId: null });
  await app.nest.get(ErrorRecords).flush(10_000);
  for (const db of [database.api, database.worker]) {
    await expect(db.query('select * from find_error_record($1)', [failure.errorId])).rejects.toMatchObject({ code: '42501' });
    expect(await db.query('select * from error_record where id = $1', [failure.errorId])).toEqual([]);
  }
  const outside = new Client({ connectionString: database.url });
  await outside.connect();
  try {
    await outside.query('set role openbot_owner');
    expect((await outside.query('select 1 from find_error_record($1)', [failure.errorId])).rowCount).toBe(1);
  } finally {
    await outside.end();
  }
});

test('doctor: 0 while all is well, 1 with the ids of what is not, 2 where it cannot look', async () => {
  const well = await run('doctor');
  expect(well).toMatchObject({ code: 0, errors: '' });
  expect(well.out).toMatch(/All is well\.\n$/);

  const id = '0198c0de-0000-7abc-8def-0123456789ab';
  const outside = new Client({ connectionString: database.url });
  await outside.connect();
  const seen = async (): Promise<Ended> => {
    try {
      await outside.query(`insert into execution (id, organization_id, project_id, workflow, workflow_version, sequence) values ($1, $1, $1, 'forgotten', 1, 0)`, [id]);
      return await run('doctor', '--json');
    } finally {
      await outside.query('delete from execution where id = $1', [id]);
      await outside.end();
    }
  };
  const found = await seen();
  expect(found).toMatchObject({ code: 1, errors: '' });
  const { findings } = JSON.parse(found.out) as { findings: { name: string; verdict: string }[] };
  expect(findings.filter(({ verdict }) => verdict === 'act')).toMatchObject([{ name: 'waiting-without-waker', count: 1, examples: [toPublicId('execution', id)] }]);

  expect(await run('doctor', '--all')).toMatchObject({ code: 2, out: '', errors: expect.stringMatching(/^OpenBot cannot look\. --all is not known[^\n]*\n$/) as string });
});

test('doctor: a database that nobody migrated is called that, whichever login it is asked with', async () => {
  const outside = new Client({ connectionString: database.url });
  await outside.connect();
  const name = `unmigrated_${process.pid}`;
  const at = (url: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).toString();
  try {
    await outside.query(`create database ${name}`);
    const stranger = Object.assign(new URL(at(database.workerUrl)), { username: 'nobody_yet' }).toString();
    for (const worker of [at(database.workerUrl), stranger, ''])
      expect(await runIn({ DATABASE_URL: at(database.url), DATABASE_WORKER_URL: worker, DATABASE_API_URL: '' }, 'doctor')).toEqual({
        code: 2,
        out: '',
        errors: expect.stringMatching(/^OpenBot cannot look\. The database at [^\n]* is not migrated yet: run "node dist\/src\/cli\.js migrate"[^\n]*\n$/) as string,
      });
  } finally {
    await outside.query(`drop database if exists ${name} with (force)`);
    await outside.end();
  }
}, 30_000);

test('lease: shows what a node left, and records by whose word it is gone', async () => {
  const id = '0198c0de-0000-7abc-8def-0123456789ac';
  const leaseId = toPublicId('lease', id);
  const outside = new Client({ connectionString: database.url });
  await outside.connect();
  await outside.query(
    `insert into resource_lease (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, generation, state) values ($1, $1, $1, 'browser', 'b-7', $1, 'ghost', 1, 1, 'unknown')`,
    [id],
  );
  await outside.end();
  const shown = await run('lease', leaseId);
  expect(shown).toMatchObject({ code: 0, errors: '' });
  expect(JSON.parse(shown.out)).toMatchObject({ leaseId, state: 'unknown', kind: 'browser', resource: 'b-7', node: 'ghost', nodeLives: false, releasedBy: null });
  expect((await run('doctor')).out).toContain(leaseId);
  const released = await run('lease', leaseId, '--released-by', 'Ada Lovelace');
  expect(released).toMatchObject({ code: 0, errors: '' });
  expect(JSON.parse(released.out)).toMatchObject({ leaseId, state: 'closed', releasedBy: 'Ada Lovelace' });
  expect(await run('lease', leaseId, '--released-by', 'Grace')).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/is closed already, by the word of Ada Lovelace[^\n]*\n$/) as string,
  });
  expect(await run('doctor')).toMatchObject({ code: 0 });
}, 30_000);

const missing = toPublicId('error', '0198c0de-0000-7abc-8def-0123456789ab');
test.each([
  ['no name', ['create-organization', '--owner', 'Ada'], /--name is missing/],
  ['a name without a value', ['create-organization', '--name', '--owner', 'Ada'], /--name needs a value/],
  ['an empty owner', ['create-organization', '--name', 'Example', '--owner', ' '], /--owner must be one line of 1 to 100 characters/],
  ['a long name', ['create-organization', '--name', 'x'.repeat(101), '--owner', 'Ada'], /--name must be/],
  ['no address', ['create-organization', '--name', 'Example', '--owner', 'Ada', '--email', 'nobody'], /--email does not have the form/],
  [
    'an unknown option',
    ['create-organization', '--name', 'Example', '--owner', 'Ada', '--role', 'x'],
    /--role is not known: the options are --name, --owner, --email, --link, --another\./,
  ],
  ['a link that leads nowhere', ['create-organization', '--name', 'Example', '--owner', 'Ada', '--email', 'ada@example.com', '--link'], /^OPENBOT_PUBLIC_URL must be set/],
  ['a name twice', ['create-organization', '--name', 'A', '--name', 'B', '--owner', 'Ada'], /--name is given twice/],
  ['a name without quotes', ['create-organization', '--name', 'Example', 'Ltd', '--owner', 'Ada'], /"Ltd" belongs to no option/],
  ['no error id', ['error'], /The error id is not one/],
  ['another id', ['error', missing.replace('err_', 'bot_')], /The error id is not one/],
  ['an error that is not there', ['error', missing], /There is no error record err_/],
  ['no lease id', ['lease', missing], /The lease id is not one/],
  ['a lease that is not there', ['lease', missing.replace('err_', 'lease_')], /There is no lease lease_/],
  ['nobody who says so', ['lease', missing.replace('err_', 'lease_'), '--released-by'], /--released-by needs a value/],
  ['no command', [], /^A command is missing: the commands are migrate, create-organization, setup-link, vouch-for-domain, error, doctor, lease, verify-audit, and --help/],
  ['a command that is none', ['doctr'], /^"doctr" is no command: the commands are migrate/],
])('%s: one line names it, and the exit code is 1', async (_, args, line) => {
  const before = await organizations();
  const { code, out, errors } = await run(...args);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(errors).toMatch(/^(?!OpenBot cannot start)[^\n]+\n$/);
  expect(errors).toMatch(line);
  expect(await organizations()).toBe(before);
});

async function organizations(): Promise<number> {
  const outside = new Client({ connectionString: database.url });
  await outside.connect();
  const { rowCount } = await outside.query('select 1 from organization');
  await outside.end();
  return rowCount ?? 0;
}
