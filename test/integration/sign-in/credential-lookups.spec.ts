import { Client } from 'pg';
import { Authenticator } from '@platform/identity/authenticator.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';

let database: TestDatabase;
let app: TestApp;
let outside: Client;
let authenticator: Authenticator;
let callers: Caller[];

beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database, { OPENBOT_ROLES: 'api' });
  outside = new Client(database.url);
  await outside.connect();
  authenticator = app.nest.get(Authenticator, { strict: false });
  const owners = [await app.createTenant(), await app.createTenant(), await app.createTenant()];
  callers = [...owners, ...(await Promise.all(owners.map((owner) => app.createMember(owner))))];
});
afterAll(async () => {
  await outside?.end();
  await app?.close();
  await database?.close();
});

test('of many at once each gets its own identity, in the project that it names', async () => {
  const asked = await Promise.all(
    callers.map(async (caller) => ({
      caller,
      project: fromPublicId('project', (await callers[0]!.call('POST', '/v1/projects', { name: `For ${caller.memberId}` })).body['id'] as string)!,
    })),
  );
  const [first] = callers;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      asked.map(async ({ caller, project }) => ({
        caller,
        project,
        plain: await authenticator.authenticate(caller.token, null),
        named: await authenticator.authenticate(caller.token, project),
      })),
    ).flat(),
  );
  for (const { caller, project, plain, named } of answers) {
    expect([plain?.context.organizationId, plain?.memberId]).toEqual([caller.organizationId, fromPublicId('member', caller.memberId)]);
    // A foreign project is as none.
    const own = caller.organizationId === first?.organizationId;
    expect(named?.context.projectId).toBe(own ? project : plain?.context.projectId);
  }
});

test('a secret that only shares its prefix proves nothing, whoever asks beside it', async () => {
  const { token } = callers[0]!;
  const wrong = `${token.slice(0, 40)}${token.slice(40) === 'A'.repeat(23) ? 'B' : 'A'.repeat(23)}`;
  const answers = await Promise.all([wrong, token, wrong, token].map((text) => authenticator.authenticate(text, null)));
  expect(answers.map((identity) => identity !== null)).toEqual([false, true, false, true]);
});

test('those that wait behind others are all answered, and what was revoked meanwhile is out with its next request', async () => {
  const made = (await callers[0]!.call('POST', '/v1/me/tokens', { name: 'Phone' })).body as { id: string; token: string };
  await outside.query('begin');
  await outside.query('lock table credential in access exclusive mode');
  const waiting = Array.from({ length: 30 }, () => callers.map(({ token }) => authenticator.authenticate(token, null))).flat();
  await eventually(async () => (await outside.query(`select 1 from pg_locks where relation = 'credential'::regclass and not granted`)).rowCount! > 0);
  await outside.query('update credential set revoked_at = clock_timestamp() where id = $1', [fromPublicId('token', made.id)]);
  await outside.query('commit');
  expect(await authenticator.authenticate(made.token, null)).toBeNull();
  expect((await Promise.all(waiting)).every((identity) => identity !== null)).toBe(true);
});

test('a database that fails fails each that asked, and no later one', async () => {
  await outside.query('alter table credential rename to elsewhere');
  const refused = await Promise.allSettled(callers.map(({ token }) => authenticator.authenticate(token, null)));
  await outside.query('alter table elsewhere rename to credential');
  expect(refused.map(({ status }) => status)).toEqual(callers.map(() => 'rejected'));
  expect(await authenticator.authenticate(callers[0]!.token, null)).not.toBeNull();
});
