import { connect } from 'node:net';
import { Client } from 'pg';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { faults, identity } from './sample.js';
import { startSampleApp, type SampleApp } from './sample-app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let admin: Client;
let app: SampleApp;
beforeAll(async () => {
  database = await openTestDatabase();
  admin = new Client({ connectionString: database.url });
  await admin.connect();
  app = await startSampleApp(database.api);
});
afterAll(async () => {
  await app.close();
  await admin.end();
  await database.close();
});

type Answer = { status: number; headers: Headers; body: Record<string, unknown>; text: string };
async function ask(path: string, options: RequestInit & { token?: string | null } = {}): Promise<Answer> {
  const { token = 'good', ...rest } = options;
  const response = await fetch(`${app.url}${path}`, { ...rest, headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...(rest.headers as object) } });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}
type Stored = { organization_id: string | null; project_id: string | null; category: string; cause: Buffer };
async function stored(errorId: string): Promise<Stored> {
  await app.app.get(ErrorRecords).flush(5_000);
  const { rows } = await admin.query<Stored>('select * from error_record where id = $1', [fromPublicId('error', errorId)]);
  if (!rows[0]) throw new Error('no such record');
  return rows[0];
}

test.each([
  ['no token', null],
  ['an unknown token', 'bad'],
  ['a token that is far too long', 'x'.repeat(5_000)],
])('401: %s', async (_, token) => {
  const answer = await ask('/v1/samples', { token });
  expect(answer).toMatchObject({ status: 401, body: { _tag: 'Unauthenticated' } });
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
});

test.each(['Basic Z29vZDpnb29k', 'good', 'Bearer', 'Bearer a b'])('401: the header "%s"', async (authorization) => {
  expect(await ask('/v1/samples', { token: null, headers: { authorization } })).toMatchObject({ status: 401, body: { _tag: 'Unauthenticated' } });
});

test('401 comes before every look at the body, the query and the path', async () => {
  expect((await ask('/v1/samples?limit=x', { token: null })).status).toBe(401);
  expect((await ask('/v1/samples/nothing', { token: null })).status).toBe(401);
});

test('500: a route without a permission is closed', async () => {
  expect(await ask('/v1/samples/undeclared')).toMatchObject({ status: 500, body: { _tag: 'RequestFailed' } });
});

test('200: an id in the path arrives as its UUID', async () => {
  expect(await ask(`/v1/samples/${toPublicId('chat', identity.context.organizationId)}`)).toMatchObject({
    status: 200,
    body: { id: identity.context.organizationId, member: identity.memberId },
  });
});

test('404: a malformed id, one of another kind and a missing one give the same bytes', async () => {
  const missing = toPublicId('chat', identity.memberId);
  const answers = await Promise.all(
    [missing, 'x', 'chat_', missing.toUpperCase(), toPublicId('bot', identity.memberId), identity.memberId, '%00', '%F0%9F%98%80', `${missing}x`, 'a'.repeat(200)].map((id) =>
      ask(`/v1/samples/${id}`),
    ),
  );
  for (const { status, text } of answers.filter((_, index) => index !== 6)) {
    expect(status).toBe(404);
    expect(text).toBe('{"_tag":"ChatNotFound","message":"You have no chat with this ID."}');
  }
  expect(answers[6]?.status).toBe(404);
});

test.each([
  ['/v1/nothing', 'GET', 404, 'RouteNotFound'],
  ['/v1/samples/', 'GET', 404, 'RouteNotFound'],
  ['/v1/nothing', 'POST', 404, 'RouteNotFound'],
  ['/v1/samples', 'DELETE', 405, 'MethodNotAllowed'],
  ['/v1/samples/x', 'PATCH', 405, 'MethodNotAllowed'],
  ['/v1/samples/%E0%A4%A', 'GET', 400, 'InvalidInput'],
  [`/v1/samples/${'a'.repeat(300)}`, 'GET', 414, 'PathTooLong'],
])('%s by %s: %d %s', async (path, method, status, tag) => {
  const answer = await ask(path, { method });
  expect(answer).toMatchObject({ status, body: { _tag: tag, message: expect.any(String) as string } });
  if (status === 405) expect(answer.headers.get('allow')).toContain('GET');
});

test.each([
  ['no HTTP', 'nonsense\r\n\r\n', '400', 'InvalidInput'],
  ['endless headers', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`, '431', 'HeadersTooLarge'],
])('%s gets a typed answer', async (_, text, status, tag) => {
  const { port } = new URL(app.url);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
    let got = '';
    socket.on('data', (chunk) => (got += chunk.toString()));
    socket.on('error', () => resolve(got));
    socket.on('close', () => resolve(got));
    socket.setTimeout(5_000, () => reject(new Error('no answer')));
  });
  expect(answer.split('\r\n')[0]).toContain(status);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ _tag: tag });
});

test('500: a bug shows an id alone, and the whole cause is sealed under it for the organization', async () => {
  faults['bug'] = Object.assign(new Error('password "hunter2" at /etc/secret', { cause: new TypeError('inner reason') }), { code: 'E_BUG' });
  const answer = await ask('/v1/samples/fault?name=bug');
  expect(answer.status).toBe(500);
  expect(answer.body).toEqual({
    _tag: 'RequestFailed',
    message: expect.any(String) as string,
    category: 'unexpected',
    errorId: expect.stringMatching(/^err_/) as string,
  });
  expect(answer.headers.get('openbot-error-id')).toBe(answer.body['errorId']);
  expect(answer.text).not.toMatch(/hunter2|secret|inner/);

  const errorId = answer.body['errorId'] as string;
  const record = await stored(errorId);
  expect(record).toMatchObject({ organization_id: identity.context.organizationId, project_id: identity.context.projectId, category: 'unexpected' });
  expect(record.cause.toString('latin1')).not.toContain('hunter2');
  const key = await app.app.get(Sealer).keyOf(identity.context.organizationId);
  const cause = JSON.parse(key.open({ table: 'error_record', record: fromPublicId('error', errorId) ?? '' }, record.cause).toString()) as object;
  expect(cause).toMatchObject({
    name: 'Error',
    message: 'password "hunter2" at /etc/secret',
    code: 'E_BUG',
    stack: expect.stringContaining('problems.spec') as string,
    cause: { name: 'TypeError', message: 'inner reason' },
  });
});

test.each([
  ['a text', 'just a text'],
  ['nothing', undefined],
  ['a cycle', Object.assign(new Error('round'), { self: null })],
])('500: %s was thrown', async (name, fault) => {
  faults[name] = fault instanceof Error ? Object.assign(fault, { cause: fault }) : fault;
  const answer = await ask(`/v1/samples/fault?name=${encodeURIComponent(name)}`);
  expect(answer).toMatchObject({ status: 500, body: { _tag: 'RequestFailed' } });
  await stored(answer.body['errorId'] as string);
});

test('503: a lost database asks to come back, whoever met it; nobody was identified, so the record is the platform’s', async () => {
  const answer = await ask('/v1/samples', { token: 'broken' });
  expect(answer).toMatchObject({ status: 503, body: { _tag: 'RequestFailed', category: 'storage_unavailable' } });
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(answer.text).not.toContain('10.0.0.7');
  const errorId = answer.body['errorId'] as string;
  const record = await stored(errorId);
  expect(record).toMatchObject({ organization_id: null, project_id: null, category: 'storage_unavailable' });
  const plain = app.app.get(Sealer).platform.open({ table: 'error_record', record: fromPublicId('error', errorId) ?? '' }, record.cause);
  expect(plain.toString()).toContain('10.0.0.7');
});

test('a cause is saved once the database is back', async () => {
  const { datname } = (await admin.query<{ datname: string }>('select current_database() as datname')).rows[0] ?? { datname: '' };
  await admin.query(`alter database ${datname} connection limit 0`);
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'openbot_api'`);
  const records = app.app.get(ErrorRecords);
  const { errorId } = records.record(new Error('while it was down'), { organizationId: identity.context.organizationId });
  await records.flush(300);
  expect((await admin.query('select 1 from error_record where id = $1', [errorId])).rowCount).toBe(0);
  await admin.query(`alter database ${datname} connection limit -1`);
  expect(await stored(toPublicId('error', errorId))).toMatchObject({ category: 'unexpected' });
});

test('a page of another origin gets no foothold: the security headers are there', async () => {
  const { headers } = await ask('/v1/samples');
  expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('strict-transport-security')).toBeNull();
});

test('live and ready', async () => {
  expect(await ask('/health/live', { token: null })).toMatchObject({ status: 200, body: { status: 'live' } });
  expect(await ask('/health/ready', { token: null })).toMatchObject({ status: 200, body: { status: 'ready' } });
});
