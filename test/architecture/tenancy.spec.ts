import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { fail } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import { read, transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { freeFromReferences, tenantRow } from '@test/support/tenant-rows.js';
import { findUnprotected, hasProject, listTables, tenantColumn, type Exceptions, type Table } from '@test/support/tenant-tables.js';

const exceptions: Exceptions = {
  outsideTenants: {
    master_key_check: 'By what the installation knows its master keys again: it is read by the owner alone, before there is a tenant.',
    node: 'The processes of the installation; they serve every tenant.',
    rate_bucket: 'Buckets are named by MACs, some of addresses that nobody has signed in from yet: one function takes from one, and nobody reads them.',
    schema_migration: 'Which migrations ran.',
  },
  sharedByProjects: {
    audit_inbox: 'Whoever acts in one project may tell of another: who makes a project tells its organization’s chain.',
    audit_head: 'An auditor reads the chains of every project; the path names the one.',
    audit_entry: 'An auditor reads the chains of every project; the path names the one.',
    invitation_project: 'Whoever accepts an invitation is a member of no project before.',
    project_role: 'What a credential may do is read before it is known in which project it acts.',
    execution_command: 'A retry is answered from its receipt wherever its caller acts now; the project says with which one the receipt goes.',
    error_record: 'A fault is read by its id within the organization; it may have happened outside every project.',
  },
  openToEngine: {
    error_record: 'An operator has the id of a fault and not its organization: one function finds the sealed row, for the owner alone; another removes those of a deleted project.',
    organization: 'An operator is told before another organization of one name is made: one function says yes or no, for the owner alone. Another answers the id of the only one.',
    execution: 'The engine claims, locks and releases heads of every tenant through its own functions.',
    execution_event: 'The doctor counts events behind heads; the columns that hold content are not granted.',
    execution_call: 'The doctor counts calls whose result nobody knows; the columns that hold content are not granted.',
    sealed_record: 'Whoever takes a credential away finds the work that was begun with it; the column that holds content is not granted.',
    resource_lease: 'The doctor names leases that nobody will close; an operator shows and settles one by its id.',
    execution_signal: 'The doctor reads when ready work was signalled; the columns that hold content are not granted.',
    product_event_inbox: 'The sequencer takes what was told in every project.',
    feed_position: 'The sequencer counts on in every project.',
    audit_inbox: 'Whoever links takes what was told in every organization.',
    audit_head: 'Whoever links goes on in every chain.',
    audit_entry: 'Whoever links writes every chain, and the purge of a project removes its own.',
    product_event: 'The sequencer writes what it numbered in every project; one function removes what a deleted project had.',
    project_purge: 'The doctor counts purges that need a person; what was deleted is not granted.',
    call_limit: 'Whoever has let a place go lets the next in, in the limits of every tenant, through one function.',
    permit: 'The places of those limits, and the work that waits for them.',
    identity_provider: 'Who signs in says an address before they say to which organization; the columns that hold settings and the secret are not granted.',
    organization_domain: 'By the domain of that address; what proves it is not granted.',
    provider_session: 'Workers look for sessions of every tenant whose provider is to be asked again; what was kept for it is not granted.',
    chat: 'A batch of commits locks the chats of several tenants in one order.',
  },
};

type Outcome = number | 'denied';
const isDenied = (error: unknown): boolean => (error as { code?: string }).code === '42501';
const deniedOr = async (work: () => Promise<number>): Promise<Outcome> => {
  try {
    return await work();
  } catch (error) {
    if (isDenied(error)) return 'denied';
    throw error;
  }
};

let database: TestDatabase;
let superuser: Client;
let tables: Table[];

beforeAll(async () => {
  database = await openTestDatabase(2);
  superuser = new Client(database.url);
  await superuser.connect();
  tables = await listTables(superuser);
});
afterAll(async () => {
  await superuser?.end();
  await database?.close();
});

describe('the protection of tables', () => {
  test('every table is protected, or named with a reason', () => {
    expect(findUnprotected(tables, exceptions)).toEqual([]);
    expect(tables.filter(tenantColumn).length).toBeGreaterThan(10);
  });

  test('no function that acts for another takes a table that its caller made for the one that it means', async () => {
    const { rows } = await superuser.query<{ name: string; path: string | null }>(
      `select p.proname as name, (select s from unnest(p.proconfig) s where s like 'search_path=%') as path from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef`,
    );
    expect(rows.length).toBeGreaterThan(10);
    // Temporary tables are looked at first, unless they are named last.
    expect(rows.filter(({ path }) => !path?.endsWith(', pg_temp'))).toEqual([]);
    const worker = new Client(database.workerUrl);
    await worker.connect();
    try {
      await worker.query(`create temp table node (name text, epoch bigint, beat bigint)`);
      await worker.query(`insert into pg_temp.node values ('planted', 1, 1)`);
      expect((await worker.query('select nodes from look_around()')).rows).toEqual([{ nodes: [] }]);
    } finally {
      await worker.end();
    }
  });

  test('every exception names a table that is there', () => {
    const names = tables.map(({ name }) => name);
    expect(Object.values(exceptions).flatMap((reasons) => Object.keys(reasons as Record<string, string>).filter((name) => !names.includes(name)))).toEqual([]);
  });

  test.each([
    ['without anything', '', ['row-level security is off', 'row-level security does not bind the owner', 'has no policy']],
    [
      'not forced',
      'alter table planted enable row level security; create policy p on planted using (organization_id = tenant_organization() and project_id = tenant_project())',
      ['row-level security does not bind the owner'],
    ],
    ['without a policy', 'alter table planted enable row level security, force row level security', ['has no policy']],
    [
      'with a policy for all',
      'alter table planted enable row level security, force row level security; create policy p on planted using (true)',
      ['policy p does not compare tenant_organization()', 'policy p does not compare tenant_project()'],
    ],
    [
      'open to the engine',
      `alter table planted enable row level security, force row level security; create policy p on planted using (organization_id = tenant_organization() and project_id = tenant_project());
      create policy e on planted to openbot_engine using (true)`,
      ['is open to the engine without a reason'],
    ],
  ])('a planted table %s is found', async (_, statements, findings) => {
    await superuser.query('begin');
    try {
      await superuser.query(`create table planted (id uuid primary key, organization_id uuid not null, project_id uuid not null)`);
      if (statements) await superuser.query(statements);
      expect(findUnprotected(await listTables(superuser), exceptions)).toEqual(findings.map((finding) => `planted: ${finding}`));
    } finally {
      await superuser.query('rollback');
    }
  });

  test('a planted table without organization_id is found', async () => {
    await superuser.query('begin');
    try {
      await superuser.query(`create table planted (id uuid primary key)`);
      expect(findUnprotected(await listTables(superuser), exceptions)).toEqual(['planted: has no organization_id and no reason']);
    } finally {
      await superuser.query('rollback');
    }
  });
});

describe('row-level security alone, without a filter in the query', () => {
  const mine = { organizationId: uuidv7(), projectId: uuidv7() };
  const neighbour = { organizationId: mine.organizationId, projectId: uuidv7() };
  const stranger = { organizationId: uuidv7(), projectId: uuidv7() };
  const logins = [
    ['openbot_api', () => database.api],
    ['openbot_worker', () => database.worker],
  ] as const;

  beforeAll(async () => {
    await freeFromReferences(superuser);
    for (const table of tables.filter(tenantColumn)) await superuser.query(await tenantRow(superuser, table, mine));
  });

  const mayRead = async (login: string, table: string): Promise<boolean> =>
    (await superuser.query<{ may: boolean }>(`select has_table_privilege($1, $2, 'select') as may`, [login, table])).rows[0]?.may ?? false;
  const seen = (db: DataSource, context: TenantContext, table: string): Promise<Outcome> =>
    deniedOr(async () => (await read(db, context, (tx) => tx.query<unknown[]>(`select * from ${table}`))).length);
  const seenByNobody = (db: DataSource, table: string): Promise<Outcome> => deniedOr(async () => (await db.query<unknown[]>(`select * from ${table}`)).length);
  /** Rows that the statement would have changed. */
  const changed = (db: DataSource, context: TenantContext, sql: string): Promise<Outcome> =>
    deniedOr(async () => {
      const result = await transact(db, context, async (tx) => fail((await tx.query<[unknown, number]>(sql))[1]));
      return result.ok ? 0 : result.failure;
    });

  /** One line for each fact that does not hold, so that a failure names every table at once. */
  async function leaks(login: string, db: DataSource): Promise<string[]> {
    const found: string[] = [];
    const expectOutcome = (what: string, outcome: Outcome, ...allowed: Outcome[]): void => void (allowed.includes(outcome) || found.push(`${what}: ${outcome}`));
    for (const table of tables.filter(tenantColumn)) {
      const { name } = table;
      const column = tenantColumn(table) ?? '';
      const isProjects = hasProject(table) && !(name in exceptions.sharedByProjects);
      const readable = await mayRead(login, name);
      expectOutcome(`${name} seen by its own tenant`, await seen(db, mine, name), readable ? 1 : 'denied');
      expectOutcome(`${name} seen by a stranger`, await seen(db, stranger, name), readable ? 0 : 'denied');
      expectOutcome(`${name} seen without a context`, await seenByNobody(db, name), readable ? 0 : 'denied');
      if (isProjects) expectOutcome(`${name} seen by another project`, await seen(db, neighbour, name), readable ? 0 : 'denied');
      expectOutcome(`${name} updated by a stranger`, await changed(db, stranger, `update ${name} set ${column} = ${column}`), 0, 'denied');
      expectOutcome(`${name} deleted by a stranger`, await changed(db, stranger, `delete from ${name}`), 0, 'denied');
      expectOutcome(`${name} inserted by a stranger`, await changed(db, stranger, await tenantRow(superuser, table, mine)), 'denied');
    }
    return found;
  }

  test.each(logins)('%s sees and changes the rows of its own tenant only', async (login, db) => {
    expect(await leaks(login, db())).toEqual([]);
  });

  test('the rows are there, and a query that is not bound sees them', async () => {
    for (const table of tables.filter(tenantColumn)) {
      const { rows } = await superuser.query<{ n: number }>(`select count(*)::int as n from ${table.name} where ${tenantColumn(table)} = $1`, [mine.organizationId]);
      expect([table.name, rows[0]?.n]).toEqual([table.name, 1]);
    }
  });

  test('a leak would be found: a planted table with a policy for all', async () => {
    await superuser.query(`create table planted (id uuid primary key, organization_id uuid not null, project_id uuid not null)`);
    await superuser.query(`alter table planted enable row level security, force row level security; create policy p on planted using (true); grant all on planted to openbot_app`);
    const before = tables;
    tables = (await listTables(superuser)).filter(({ name }) => name === 'planted');
    await superuser.query(await tenantRow(superuser, tables[0]!, mine));
    const found = await leaks('openbot_api', database.api);
    tables = before;
    await superuser.query('drop table planted');
    expect(found).toEqual([
      'planted seen by a stranger: 1',
      'planted seen without a context: 1',
      'planted seen by another project: 1',
      'planted updated by a stranger: 1',
      'planted deleted by a stranger: 1',
      expect.stringMatching(/^planted inserted by a stranger: /),
    ]);
  });
});
