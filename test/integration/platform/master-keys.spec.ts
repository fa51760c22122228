import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { withLogin } from '@platform/database/database-url.js';
import { migrate, type MigrationSettings } from '@platform/database/migrate.js';
import { StartFailure } from '@platform/local/start-failure.js';
import { withDatabase, type TestServer } from '@test/support/test-server.js';

const { adminUrl } = JSON.parse(process.env['TEST_POSTGRES'] ?? '') as TestServer;
/** The key that made the passwords of the test server's logins. */
const own = { id: 'test', key: Buffer.alloc(32, 7) };
const added = { id: 'added', key: randomBytes(32) };
const foreign = { id: 'foreign', key: randomBytes(32) };
const made: string[] = [];

async function query<T extends object>(url: string, sql: string): Promise<T[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function createDatabase(): Promise<MigrationSettings> {
  const name = `keys_${randomBytes(6).toString('hex')}`;
  await query(adminUrl, `create database ${name}`);
  made.push(name);
  return { databaseUrl: withDatabase(adminUrl, name), databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys: [own] };
}

const known = async ({ databaseUrl }: MigrationSettings): Promise<string[]> =>
  (await query<{ id: string }>(databaseUrl, 'select master_key_id as id from master_key_check order by created_at')).map(({ id }) => id);
const refusal = (settings: MigrationSettings, encryptionKeys: MigrationSettings['encryptionKeys'], databaseUrl = settings.databaseUrl): Promise<unknown> =>
  migrate({ ...settings, encryptionKeys, databaseUrl }).then(
    () => null,
    (error: unknown) => error,
  );
/** What a wrong start could do damage to: roles with their passwords, notes and members, and what is known of the keys. */
const everything = (url: string): Promise<object[]> =>
  query(
    url,
    `select rolname, rolpassword, shobj_description(oid, 'pg_authid') as note,
       array(select member::regrole::text from pg_auth_members where roleid = r.oid order by 1) as members,
       (select json_agg(c order by master_key_id) from master_key_check c) as checks
     from pg_authid r where rolname like 'openbot%' order by rolname`,
  );

let settings: MigrationSettings;
beforeEach(async () => {
  settings = await createDatabase();
});
afterAll(async () => {
  for (const name of made) await query(adminUrl, `drop database ${name} with (force)`);
  await query(adminUrl, 'drop role if exists keys_newcomer');
});

test('a fresh database remembers the first keys, and not by themselves', async () => {
  await migrate({ ...settings, encryptionKeys: [own, added] });
  expect(await known(settings)).toEqual(['test', 'added']);
  const stored = JSON.stringify(await query(settings.databaseUrl, `select encode(value, 'hex') as value from master_key_check`));
  for (const { key } of [own, added]) expect(stored).not.toContain(key.toString('hex'));
});

test('nobody but the owner reads what is known of the keys', async () => {
  const { databaseApiUrl, databaseWorkerUrl } = await migrate(settings);
  for (const url of [databaseApiUrl, databaseWorkerUrl]) await expect(query(url, 'select * from master_key_check')).rejects.toMatchObject({ code: '42501' });
});

test.each([
  ['other keys', [foreign], /^OPENBOT_ENCRYPTION_KEYS are not the keys of the database at [^\n]*: give this process the keys of the others\. All processes [^\n]*$/],
  ['another key under the known id', [{ ...own, key: foreign.key }], /^OPENBOT_ENCRYPTION_KEYS are not the keys of the database/],
  ['the known key under another id', [{ ...own, id: 'renamed' }], /^OPENBOT_ENCRYPTION_KEYS are not the keys of the database/],
  ['another key under the id of one of two', [own, { ...added, key: foreign.key }], /^OPENBOT_ENCRYPTION_KEYS has a key named "added" that is not the one [^\n]*$/],
  ['no key', [], /^OPENBOT_ENCRYPTION_KEYS are not the keys of the database/],
])('%s: refused in one line, and nothing is changed', async (_, keys, line) => {
  const running = await migrate({ ...settings, encryptionKeys: [own, added] });
  const before = await everything(settings.databaseUrl);
  const error = await refusal(settings, keys);
  expect(error).toBeInstanceOf(StartFailure);
  expect((error as Error).message).toMatch(line);
  for (const { key } of keys) expect((error as Error).message).not.toContain(key.toString('base64'));
  expect(await everything(settings.databaseUrl)).toEqual(before);
  for (const url of [running.databaseApiUrl, running.databaseWorkerUrl]) expect(await query(url, 'select 1 as works')).toEqual([{ works: 1 }]);
});

test('rotation: a new key in front comes with the old one, and is known from then on', async () => {
  await migrate(settings);
  expect((await refusal(settings, [added])) as Error).toBeInstanceOf(StartFailure);
  await migrate({ ...settings, encryptionKeys: [added, own] });
  expect(await known(settings)).toEqual(['test', 'added']);
  // A process that has not heard of it yet may start again meanwhile.
  await migrate(settings);
  await migrate({ ...settings, encryptionKeys: [added, own] });
  expect(await known(settings)).toEqual(['test', 'added']);
});

test('processes before and after a rotation that meet on a fresh database all come through', async () => {
  const other = { ...settings, encryptionKeys: [own, foreign] };
  const outcomes = await Promise.all([settings, other, settings, other].map((each) => migrate(each).then(() => 'ran', (error: unknown) => error))); // prettier-ignore
  expect(outcomes).toEqual(['ran', 'ran', 'ran', 'ran']);
  expect((await known(settings)).toSorted()).toEqual(['foreign', 'test']);
});

test('a login that never acted as the owner is refused for its keys too, and becomes no member by it', async () => {
  await migrate(settings);
  await query(adminUrl, `create role keys_newcomer login password 'p' createrole`);
  await query(adminUrl, 'grant openbot_owner to keys_newcomer with admin option');
  if ((await query<{ n: number }>(adminUrl, `select current_setting('server_version_num')::int as n`))[0]!.n >= 160000)
    await query(adminUrl, 'grant openbot_owner to keys_newcomer with set false');
  const before = await everything(settings.databaseUrl);
  const error = await refusal(settings, [foreign], withLogin(settings.databaseUrl, 'keys_newcomer', 'p'));
  expect((error as Error).message).toMatch(/^OPENBOT_ENCRYPTION_KEYS are not the keys/);
  expect(await everything(settings.databaseUrl)).toEqual(before);
});

test('a login that may not act as the owner is told so', async () => {
  await migrate(settings);
  await query(adminUrl, `drop role if exists keys_newcomer`);
  await query(adminUrl, `create role keys_newcomer login password 'p'`);
  const error = await refusal(settings, [own], withLogin(settings.databaseUrl, 'keys_newcomer', 'p'));
  expect((error as Error).message).toMatch(/^The user of DATABASE_URL may not act as openbot_owner[^\n]*$/);
});
