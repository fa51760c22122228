import { Client } from 'pg';
import { readPurgePlan } from '@contexts/organizations/queries/purge-catalogue.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

/** Columns of tables without a project that name something by its id, although nothing says what: each with the reason why a purge may leave its row. */
const reasons: Readonly<Record<string, string>> = {
  'credential.projects': 'What a credential is narrowed to. The last step of a purge takes the project out of it.',
  'member_setting.default_bot_id': 'A bot that is gone reads as none.',
  'project_purge.requested_by': 'The receipt outlives who asked for it: a key’s mirror goes with the project.',
  'project_purge.requested_with': 'As who asked.',
  'project_purge.execution_id': 'The work of the purge is the organization’s.',
};

let database: TestDatabase;
let superuser: Client;
beforeAll(async () => {
  database = await openTestDatabase(1);
  superuser = new Client(database.url);
  await superuser.connect();
});
afterAll(async () => {
  await superuser?.end();
  await database?.close();
});

/** As the worker's login sees the catalogue, which purges. */
const plan = async () => {
  await superuser.query(`set role openbot_worker`);
  try {
    return await readPurgePlan({ query: async (sql: string) => (await superuser.query(sql)).rows } as unknown as Parameters<typeof readPurgePlan>[0]);
  } finally {
    await superuser.query(`reset role`);
  }
};

/** One line for everything that a purge would leave. */
async function findLeft(): Promise<string[]> {
  const emptied = await plan();
  const names = emptied.map(({ table }) => table);
  const { rows: columns } = await superuser.query<{ table: string; column: string; explained: boolean; project: boolean; kept: boolean }>(
    `select c.relname as table, a.attname as column,
       col_description(c.oid, a.attnum) ~ '^references \\w+ \\(\\w+\\)$' or exists (select from pg_constraint f where f.contype = 'f' and f.conrelid = c.oid and a.attnum = any (f.conkey)) as explained,
       exists (select from pg_attribute p where p.attrelid = c.oid and p.attname = 'project_id' and not p.attisdropped) as project,
       has_table_privilege('openbot_engine', c.oid, 'select') and has_table_privilege('openbot_engine', c.oid, 'delete') as kept
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.atttypid = any ('{uuid,uuid[]}'::regtype[])
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and exists (select from pg_attribute o where o.attrelid = c.oid and o.attname = 'organization_id' and not o.attisdropped) order by 1, 2`,
  );
  const kept = new Set(emptied.filter((each) => each.kept).map(({ table }) => table));
  return [
    ...new Set([
      ...columns.filter(({ table, project }) => project && !names.includes(table)).map(({ table }) => `${table}: has a project and is not emptied`),
      ...columns.filter((each) => kept.has(each.table) && !each.kept).map(({ table }) => `${table}: nobody may remove its rows`),
      ...columns
        .filter(({ table, column, explained, project }) => !project && !explained && !['id', 'organization_id'].includes(column) && !(`${table}.${column}` in reasons))
        .map(({ table, column }) => `${table}.${column}: may lead to a project, and says not where`),
    ]),
  ];
}

describe('the purge of a project', () => {
  test('reaches every table with a path to a project', async () => {
    expect(await findLeft()).toEqual([]);
    expect((await plan()).map(({ table }) => table)).toEqual(
      expect.arrayContaining(['chat_item', 'execution', 'member', 'member_setting', 'permit', 'identity_revocation', 'product_event']),
    );
  });

  test('every reason is for a column that is there', async () => {
    const { rows } = await superuser.query<{ name: string }>(
      `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped where c.relnamespace = 'public'::regnamespace`,
    );
    expect(Object.keys(reasons).filter((name) => !rows.some((row) => row.name === name))).toEqual([]);
  });

  test.each([
    ['with a project that nobody may remove', 'project_id uuid', '', ['planted: nobody may remove its rows'], true],
    ['with a project', 'project_id uuid', 'grant delete on planted to openbot_app', [], true],
    ['that names a chat', 'chat_id uuid', '', ['planted.chat_id: may lead to a project, and says not where'], false],
    ['that names chats', 'chats uuid[]', '', ['planted.chats: may lead to a project, and says not where'], false],
    ['that says where it leads', 'chat_id uuid', `comment on column planted.chat_id is 'references chat (id)'; grant delete on planted to openbot_app`, [], true],
    ['that refers to the organization’s', 'c uuid, foreign key (organization_id, c) references model_connection', '', [], false],
    [
      'that refers to itself, and lets go',
      'project_id uuid, id uuid, up uuid, primary key (organization_id, id), foreign key (organization_id, up) references planted on delete set null (up)',
      'grant delete on planted to openbot_app',
      [],
      true,
    ],
    ['that refers to a member', 'm uuid, foreign key (organization_id, m) references member', 'grant delete on planted to openbot_app', [], true],
  ])('a planted table %s', async (_, columns, statements, found, isEmptied) => {
    await superuser.query('begin');
    try {
      await superuser.query(`create table planted (organization_id uuid not null, ${columns}); ${statements}`);
      expect(await findLeft()).toEqual(found);
      expect((await plan()).some(({ table }) => table === 'planted')).toBe(isEmptied);
    } finally {
      await superuser.query('rollback');
    }
  });
});
