import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate, migrationTable, type MigrationSettings } from '@platform/database/migrate.js';
import { migrations } from '@platform/database/migrations.js';
import { rolePasswords } from '@platform/database/role-password.js';
import { loginOf, withLogin } from '@platform/database/database-url.js';
import { withDatabase, type TestServer } from '@test/support/test-server.js';

const { adminUrl } = JSON.parse(process.env['TEST_POSTGRES'] ?? '') as TestServer;
/** The keys of the test server's logins: other keys would change their passwords under the other test files. */
const encryptionKeys = [{ id: 'test', key: Buffer.alloc(32, 7) }];
const made: string[] = [];

async function query<T extends object>(url: string, sql: string, values: unknown[] = []): Promise<T[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

async function createDatabase(): Promise<MigrationSettings> {
  const name = `migrate_${randomBytes(6).toString('hex')}`;
  await query(adminUrl, `create database ${name}`);
  made.push(name);
  return { databaseUrl: withDatabase(adminUrl, name), databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys };
}

afterAll(async () => {
  for (const name of made) await query(adminUrl, `drop database ${name} with (force)`);
  await query(adminUrl, `drop role if exists migrate_login_a, migrate_login_b`);
});

test('every migration of the folder is in the list, in the order of its time', () => {
  const files = readdirSync(join(__dirname, '..', '..', '..', 'migrations')).filter((name) => /^\d{13}-/.test(name));
  expect(migrations.map(({ name }) => name.slice(-13))).toEqual(files.map((name) => name.slice(0, 13)).sort());
});

test('an empty database gets roles, tables and two logins that are bound by row-level security', async () => {
  const settings = await createDatabase();
  const lines: string[] = [];
  const urls = await migrate(settings, (line) => lines.push(line));
  expect(lines).toEqual([`Preparing the database: ${migrations.length} of ${migrations.length} migrations`]);

  for (const [url, role] of [
    [urls.databaseApiUrl, 'openbot_api'],
    [urls.databaseWorkerUrl, 'openbot_worker'],
  ] as const) {
    const [self] = await query(
      url,
      `select current_user as role, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb as powers, pg_has_role('openbot_owner', 'usage') as owner, pg_has_role('openbot_engine', 'usage') as engine from pg_roles where rolname = current_user`,
    );
    expect(self).toEqual({ role, powers: false, owner: false, engine: false });
  }
  const owners = await query(settings.databaseUrl, `select distinct pg_get_userbyid(relowner) as owner from pg_class where relnamespace = 'public'::regnamespace`);
  expect(owners).toEqual([{ owner: 'openbot_owner' }]);
});

test('a second run changes nothing and says nothing', async () => {
  const settings = await createDatabase();
  const first = await migrate(settings);
  const lines: string[] = [];
  expect(await migrate(settings, (line) => lines.push(line))).toEqual(first);
  expect(lines).toEqual([]);
});

test('six processes at once, on two databases of one server, all come through', async () => {
  const [one, two] = [await createDatabase(), await createDatabase()];
  const urls = await Promise.all([one, two, one, two, one, two].map((settings) => migrate(settings)));
  for (const { databaseApiUrl } of urls) expect(await query(databaseApiUrl, 'select 1 as works')).toEqual([{ works: 1 }]);
  const [count] = await query<{ n: number }>(one.databaseUrl, `select count(*)::int as n from ${migrationTable}`);
  expect(count?.n).toBe(migrations.length);
});

test('a database that a newer program migrated is refused in one line', async () => {
  const settings = await createDatabase();
  await migrate(settings);
  await query(settings.databaseUrl, `insert into ${migrationTable} (timestamp, name) values (9999999999999, 'Later9999999999999')`);
  await expect(migrate(settings)).rejects.toThrow(/^The database is newer than this program \(it has the migration Later9999999999999\): start the version that made it[^\n]*$/);
});

test('logins of their own are taken into the roles, with the roles timeouts', async () => {
  const settings = await createDatabase();
  await query(adminUrl, `create role migrate_login_a login password 'a'`);
  await query(adminUrl, `create role migrate_login_b login password 'b'`);
  const given = {
    ...settings,
    databaseApiUrl: withLogin(settings.databaseUrl, 'migrate_login_a', 'a'),
    databaseWorkerUrl: withLogin(settings.databaseUrl, 'migrate_login_b', 'b'),
  };
  expect(await migrate(given)).toEqual({ databaseApiUrl: given.databaseApiUrl, databaseWorkerUrl: given.databaseWorkerUrl });
  const [row] = await query(
    given.databaseWorkerUrl,
    `select pg_has_role('openbot_worker', 'usage') as worker, pg_has_role('openbot_app', 'usage') as app, current_setting('lock_timeout') as lock`,
  );
  expect(row).toEqual({ worker: true, app: true, lock: '5s' });
  const [api] = await query(given.databaseApiUrl, `select pg_has_role('openbot_worker', 'usage') as worker`);
  expect(api).toEqual({ worker: false });
});

test('a login that could bypass row-level security is refused', async () => {
  const settings = await createDatabase();
  await expect(migrate({ ...settings, databaseApiUrl: settings.databaseUrl })).rejects.toThrow(/may bypass row-level security/);
});

test('a user who may not make roles is told so', async () => {
  const settings = await createDatabase();
  await query(adminUrl, `create role migrate_plain login password 'p'`);
  try {
    await expect(migrate({ ...settings, databaseUrl: withLogin(settings.databaseUrl, 'migrate_plain', 'p') })).rejects.toThrow(
      /^The user of DATABASE_URL may not prepare the roles [^\n]*$/,
    );
  } finally {
    await query(adminUrl, 'drop role migrate_plain');
  }
});

test.each([
  ['a port where nothing listens', (url: URL) => (url.port = '1'), /ECONNREFUSED.*start the database or correct DATABASE_URL/],
  ['a wrong password', (url: URL) => (url.password = 'hunter2'), /28P01.*correct DATABASE_URL/],
  ['a missing database', (url: URL) => (url.pathname = '/missing'), /3D000.*create it or correct DATABASE_URL/],
])('%s: one line that names the place and holds no password', async (_, change, expected) => {
  const url = new URL(adminUrl);
  const { password } = url;
  change(url);
  const failure = await migrate({ databaseUrl: url.toString(), databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys }).then(
    () => null,
    (error: Error) => error,
  );
  expect(failure?.message).toMatch(expected);
  expect(failure?.message).not.toMatch(/\n/);
  expect(failure?.message).not.toContain('hunter2');
  expect(failure?.message).not.toContain(password);
});

test('a new key in front leaves the passwords that running processes use', async () => {
  const settings = await createDatabase();
  const before = await migrate(settings);
  const rotated = await migrate({ ...settings, encryptionKeys: [{ id: 'new', key: Buffer.alloc(32, 9) }, ...encryptionKeys] });
  expect(rotated).toEqual(before);
});

test('the stored form of a password is the one that PostgreSQL makes', async () => {
  const [made] = rolePasswords(encryptionKeys, 'openbot_api');
  const [stored] = await query<{ verifier: string }>(adminUrl, `select rolpassword as verifier from pg_authid where rolname = 'openbot_api'`);
  expect(stored?.verifier).toBe(made?.verifier);
  expect(loginOf(withLogin(adminUrl, 'openbot_api', made?.password ?? ''))).toBe('openbot_api');
});
