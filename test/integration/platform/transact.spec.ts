import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, type Pool } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { fail, ok } from '@domain/result.js';
import { isPassingStorageError } from '@engine/storage-errors.js';
import { protectTable } from '@migrations/protect-table.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { CommitRefused, read, transact } from '@platform/database/transact.js';
import { categoryOf } from '@platform/observability/failure-category.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';

let database: TestDatabase;
let admin: Client;
const [ours, theirs] = [0, 0].map(() => ({ organizationId: uuidv7(), projectId: uuidv7() })) as [Tenant, Tenant];
type Tenant = { readonly organizationId: string; readonly projectId: string };

const insert = `insert into thing (organization_id, project_id, name) values (tenant_organization(), tenant_project(), $1)`;
const names = (db: DataSource, tenant: Tenant): Promise<string[]> =>
  read(db, tenant, async (tx) => ((await tx.query('select name from thing order by name')) as { name: string }[]).map(({ name }) => name));
const pool = (db: DataSource): Pool => (db.driver as unknown as { master: Pool }).master;
const borrowed = (db: DataSource): number => (db.driver as unknown as { connectedQueryRunners: unknown[] }).connectedQueryRunners.length;

beforeAll(async () => {
  database = await openTestDatabase(1);
  admin = new Client({ connectionString: database.url });
  await admin.connect();
  await admin.query('set role openbot_owner');
  await admin.query(
    'create table thing (organization_id uuid not null, project_id uuid not null, name text not null, constraint thing_has_one_name unique (name) deferrable initially deferred)',
  );
  for (const sql of protectTable('thing', 'project')) await admin.query(sql);
  await admin.query('reset role');
});
afterAll(async () => {
  await admin.end();
  await database.close();
});
beforeEach(async () => {
  await admin.query('truncate thing');
  await admin.query(`insert into thing values ($1, $2, 'ours'), ($3, $4, 'theirs')`, [ours.organizationId, ours.projectId, theirs.organizationId, theirs.projectId]);
});

/** The pool's one connection carries nothing of an earlier tenant, and the pool has lost none. */
async function expectClean(db = database.api): Promise<void> {
  expect(borrowed(db)).toBe(0);
  const [left] = (await db.query(
    `select nullif(current_setting('app.organization', true), '') as organization, nullif(current_setting('app.project', true), '') as project, (select count(*)::int from thing) as seen`,
  )) as object[];
  expect(left).toEqual({ organization: null, project: null, seen: 0 });
  expect(pool(db).totalCount).toBe(1);
  expect(pool(db).idleCount).toBe(1);
  expect(await names(db, theirs)).toEqual(['theirs']);
}

test('a forgotten context reads nothing and writes nothing', async () => {
  expect(await database.api.query('select * from thing')).toEqual([]);
  await expect(database.api.query(`insert into thing values ($1, $2, 'stray')`, [ours.organizationId, ours.projectId])).rejects.toThrow(/row-level security/);
  expect(((await database.api.query(`update thing set name = 'x' returning 1`)) as unknown[][])[1]).toBe(0);
});

test('a tenant sees its own rows alone, and a context without a project none of a project', async () => {
  expect(await names(database.api, ours)).toEqual(['ours']);
  expect(await names(database.worker, theirs)).toEqual(['theirs']);
  const seen = await read(database.api, { organizationId: ours.organizationId, projectId: null }, (tx) => tx.query('select * from thing'));
  expect(seen).toEqual([]);
  const crossed = transact(database.api, ours, async (tx) => ok(await tx.query(`insert into thing values ($1, $2, 'planted')`, [theirs.organizationId, theirs.projectId])));
  await expect(crossed).rejects.toThrow(/row-level security/);
});

test('a connection that breaks between two statements is an outage, for requests and for the engine', async () => {
  const work = transact(database.api, ours, async (tx) => {
    const [backend] = (await tx.query('select pg_backend_pid() as pid')) as { pid: number }[];
    await admin.query('select pg_terminate_backend($1)', [backend?.pid]);
    await eventually(() => (tx as EntityManager).queryRunner?.isReleased);
    return ok(await tx.query(insert, ['cut']));
  });
  const error: unknown = await work.catch((cause: unknown) => cause);
  expect([categoryOf(error), isPassingStorageError(error)]).toEqual(['storage_unavailable', true]);
  expect(await names(database.api, ours)).toEqual(['ours']);
  await expectClean();
});

test('a context that is no UUID is refused before anything is sent', async () => {
  await expect(names(database.api, { ...ours, organizationId: `' or true --` })).rejects.toThrow(TypeError);
  await expectClean();
});

test('BEGIN, context and the first statement leave in one flush, COMMIT in the second', async () => {
  const client = (await pool(database.api).connect()) as unknown as { release(): void; connection: { stream: Socket } };
  client.release();
  const { stream } = client.connection;
  const flushes: string[] = [];
  const { _write: write, _writev: writev } = stream as Required<Pick<Socket, '_write' | '_writev'>>;
  stream._write = (chunk, encoding, done) => (flushes.push(String(chunk)), write.call(stream, chunk, encoding, done));
  stream._writev = (chunks, done) => (flushes.push(chunks.map(({ chunk }) => String(chunk)).join('')), writev.call(stream, chunks, done));
  try {
    await transact(database.api, ours, async (tx) => ok(await tx.query(insert, ['flushed'])));
  } finally {
    Object.assign(stream, { _write: write, _writev: writev });
  }
  expect(flushes).toHaveLength(2);
  expect(flushes[0]).toMatch(/begin; select set_config[^]*insert into thing/);
  expect(flushes[1]).toContain('commit');
  expect(await names(database.api, ours)).toEqual(['flushed', 'ours']);
});

test('after success nothing stays on the connection', async () => {
  await transact(database.api, ours, async (tx) => ok(await tx.query(insert, ['second'])));
  await expectClean();
  expect(await names(database.api, ours)).toEqual(['ours', 'second']);
});

test('a failed Result is returned and rolls back', async () => {
  const result = await transact(database.api, ours, async (tx) => {
    await tx.query(insert, ['undone']);
    return fail({ _tag: 'Refused' });
  });
  expect(result).toEqual({ ok: false, failure: { _tag: 'Refused' } });
  await expectClean();
  expect(await names(database.api, ours)).toEqual(['ours']);
});

test('a throw rolls back, also before the first statement', async () => {
  const late = transact(database.api, ours, async (tx) => {
    await tx.query(insert, ['undone']);
    throw new Error('a bug');
  });
  await expect(late).rejects.toThrow('a bug');
  await expectClean();
  await expect(transact(database.api, ours, () => Promise.reject(new Error('at once')))).rejects.toThrow('at once');
  await expectClean();
  expect(await names(database.api, ours)).toEqual(['ours']);
});

test('a database error rolls back', async () => {
  await expect(transact(database.api, ours, async (tx) => ok(await tx.query('select 1 / 0')))).rejects.toMatchObject({ code: '22012' });
  await expectClean();
});

test('an error that the work swallowed is no success', async () => {
  const swallowed = transact(database.api, ours, async (tx) => {
    await tx.query(insert, ['lost']);
    await tx.query('select 1 / 0').catch(() => undefined);
    return ok('done');
  });
  await expect(swallowed).rejects.toThrow(CommitRefused);
  await expectClean();
});

test('an error of COMMIT itself rolls back', async () => {
  await expect(transact(database.api, ours, async (tx) => ok(await tx.query(insert, ['ours'])))).rejects.toMatchObject({ code: '23505' });
  await expectClean();
});

test('a connection that is cut in the transaction is replaced', async () => {
  const cut = transact(database.api, ours, async (tx) => {
    const [{ pid }] = (await tx.query('select pg_backend_pid() as pid')) as [{ pid: number }];
    await admin.query('select pg_terminate_backend($1)', [pid]);
    await tx.query(insert, ['lost']);
    return ok('done');
  });
  await expect(cut).rejects.toThrow();
  await expectClean();
  expect(await names(database.api, ours)).toEqual(['ours']);
});

test('a connection that is cut while the pool holds it is replaced', async () => {
  await admin.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and usename = 'openbot_api'`);
  // The end of the connection may arrive behind the next statement, which then fails once.
  await names(database.api, ours).catch(() => undefined);
  await expectClean();
});

test('after a timeout of the client the connection is destroyed, with its statement', async () => {
  const options = dataSourceOptions(database.apiUrl, 'api', 1);
  const impatient = await new DataSource({ ...options, extra: { ...(options.extra as object), query_timeout: 150 } }).initialize();
  try {
    await expect(transact(impatient, ours, async (tx) => ok(await tx.query('select pg_sleep(60)')))).rejects.toThrow(/timeout/);
    await expectClean(impatient);
  } finally {
    await impatient.destroy();
  }
});

test('a read cannot write', async () => {
  await expect(read(database.api, ours, (tx) => tx.query(insert, ['x']))).rejects.toMatchObject({ code: '25006' });
  await expectClean();
});

test('many tenants share one connection and never meet', async () => {
  const tenants = Array.from({ length: 40 }, () => ({ organizationId: uuidv7(), projectId: uuidv7() }));
  const seen = await Promise.all(
    tenants.map(async (tenant, n) => {
      const kept = n % 2 === 0;
      await transact(database.api, tenant, async (tx) => (await tx.query(insert, [`tenant ${n}`]), kept ? ok(n) : fail({ _tag: 'Refused' })));
      return names(database.api, tenant);
    }),
  );
  expect(seen).toEqual(tenants.map((_, n) => (n % 2 === 0 ? [`tenant ${n}`] : [])));
  await expectClean();
});

test('a deadlock is run again until both are through', async () => {
  const db = await new DataSource(dataSourceOptions(database.apiUrl, 'api', 2)).initialize();
  await transact(db, ours, async (tx) => ok(await tx.query(insert, ['second'])));
  let attempts = 0;
  let holding = 0;
  const both = (first: string, second: string): Promise<unknown> =>
    transact(db, ours, async (tx) => {
      attempts += 1;
      await tx.query('select from thing where name = $1 for update', [first]);
      holding += 1;
      while (holding < 2) await pause(1);
      await tx.query('select from thing where name = $1 for update', [second]);
      return ok('through');
    });
  try {
    expect(await Promise.all([both('ours', 'second'), both('second', 'ours')])).toEqual([ok('through'), ok('through')]);
    expect(attempts).toBeGreaterThan(2);
  } finally {
    await db.destroy();
  }
});

test('a server that says farewell before the borrower of a connection listens ends no process: the first statement says so', async () => {
  const db = await new DataSource(dataSourceOptions(database.apiUrl, 'api', 1)).initialize();
  const superuser = new Client({ connectionString: database.url });
  await superuser.connect();
  try {
    const client = await pool(db).connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const gone = new Promise((resolve) => client.once('end', resolve));
    await superuser.query('select pg_terminate_backend($1)', [rows[0]!.pid]);
    await gone;
    const error: unknown = await client.query('select 1').catch((thrown: unknown) => thrown);
    expect(isPassingStorageError(error)).toBe(true);
    client.release();
    expect(await names(db, ours)).toContain('ours');
  } finally {
    await superuser.end();
    await db.destroy();
  }
});

test('the logins have their timeouts without start-up options', async () => {
  const [row] = (await database.worker.query(
    `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle`,
  )) as object[];
  expect(row).toEqual({ statement: '30s', lock: '5s', idle: '30s' });
});
