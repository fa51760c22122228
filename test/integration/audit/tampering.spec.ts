import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { canonicalText } from '@domain/audit/canonical.js';
import type { Scalar } from '@domain/audit/entry.js';
import { readChain } from '@contexts/audit/queries/entries.js';
import { linkHash } from '@platform/audit/audit-view.js';
import { read } from '@platform/database/transact.js';
import { events, openChainWorld, type ChainWorld, type Tenant } from './chain-world.js';

let world: ChainWorld;
beforeAll(async () => {
  world = await openChainWorld();
});
afterAll(() => world.close());

async function chainOf(length: number): Promise<Tenant> {
  const tenant = await world.createTenant();
  await world.tell(tenant, events(length));
  await world.link();
  return tenant;
}

/** What a superuser can do: the trigger is off for the session, and rows are as it likes. */
async function tamper(sql: string, tenant: Tenant): Promise<void> {
  const client = new Client(world.database.url);
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    await client.query(sql.replaceAll(':project', `'${tenant.projectId}'`));
  } finally {
    await client.end();
  }
}

const ofChain = 'project_id = :project';
const add = `insert into audit_entry (organization_id, project_id, id, at, action, outcome, actor_kind, detail, sequence, hash)
  select organization_id, project_id, gen_random_uuid(), at, action, outcome, actor_kind, detail`;
/** Writes the hashes of a chain anew from its first entry on, its head too. */
const rehash = `do $$ declare e record; x audit_inbox; h bytea := decode(repeat('00', 32), 'hex'); n int := 0; begin
  for e in select * from audit_entry where ${ofChain} order by sequence loop
    select 1, e.organization_id, e.project_id, e.chain_id, e.id, e.at, e.action, e.outcome, e.actor_kind, e.member_id, e.credential_kind, e.credential_id, e.on_behalf_of, e.service,
      e.target_kind, e.target_id, e.address, e.detail into x;
    n := n + 1; h := sha256(h || convert_to(audit_text(x, n), 'UTF8'));
    update audit_entry a set hash = h, sequence = n where a.organization_id = e.organization_id and a.id = e.id;
  end loop;
  update audit_head set length = n, hash = h where ${ofChain};
end $$`;

describe('who is superuser can change rows, and it shows', () => {
  test.each([
    ['a changed word', `update audit_entry set action = 'bot.deleted' where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'changed' }],
    ['a changed time', `update audit_entry set at = at + interval '1 millisecond' where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'changed' }],
    ['a changed actor', `update audit_entry set actor_kind = 'nobody' where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'changed' }],
    ['a changed target', `update audit_entry set target_id = gen_random_uuid() where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'changed' }],
    ['an added detail', `update audit_entry set detail = '{"role": "owner"}' where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'changed' }],
    ['a changed hash', `update audit_entry set hash = sha256('x') where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'changed' }],
    ['a removed entry', `delete from audit_entry where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'missing' }],
    [
      'a removed entry whose place the next ones took',
      `delete from audit_entry where ${ofChain} and sequence = 3; update audit_entry set sequence = sequence - 1 where ${ofChain} and sequence > 3`,
      { sequence: 3, reason: 'changed' },
    ],
    [
      'two that changed places',
      `update audit_entry set sequence = case sequence when 3 then 104 else 103 end where ${ofChain} and sequence in (3, 4); update audit_entry set sequence = sequence - 100 where ${ofChain} and sequence > 100`,
      { sequence: 3, reason: 'changed' },
    ],
    ['an entry added at the end', `${add}, 7, hash from audit_entry where ${ofChain} and sequence = 6`, { sequence: 7, reason: 'changed' }],
    ['a tail that was cut', `delete from audit_entry where ${ofChain} and sequence > 4`, { sequence: 5, reason: 'head' }],
    ['a chain that was emptied', `delete from audit_entry where ${ofChain}`, { sequence: 1, reason: 'head' }],
    ['an entry of another chain in its place', `update audit_entry set project_id = null where ${ofChain} and sequence = 3`, { sequence: 3, reason: 'missing' }],
  ])('%s', async (_, sql, firstBroken) => {
    const tenant = await chainOf(6);
    expect((await world.verify(tenant, 'project')).firstBroken).toBeNull();
    await tamper(sql, tenant);
    expect((await world.verify(tenant, 'project')).firstBroken).toEqual(firstBroken);
  });

  test.each([
    ['cut together with its head', `delete from audit_entry where ${ofChain} and sequence > 4; ${rehash}`, { sequence: 5, reason: 'known-head' }],
    ['written anew with a change in it', `update audit_entry set action = 'bot.deleted' where ${ofChain} and sequence = 3; ${rehash}`, { sequence: 6, reason: 'known-head' }],
    ['removed as a whole', `delete from audit_entry where ${ofChain}; delete from audit_head where ${ofChain}`, { sequence: 1, reason: 'known-head' }],
  ])('a chain %s shows by a head that was kept elsewhere alone', async (_, sql, firstBroken) => {
    const tenant = await chainOf(6);
    const { head } = await world.verify(tenant, 'project');
    await world.tell(tenant, events(2));
    await world.link();
    expect((await world.verify(tenant, 'project', head)).firstBroken).toBeNull();
    await tamper(sql, tenant);
    expect((await world.verify(tenant, 'project')).firstBroken).toBeNull();
    expect((await world.verify(tenant, 'project', head)).firstBroken).toEqual(firstBroken);
  });

  test('a chain of several pages is followed through all of them', async () => {
    const tenant = await chainOf(1_203);
    expect(await world.verify(tenant, 'project')).toMatchObject({ checked: 1_203, firstBroken: null, head: { length: 1_203 } });
    await tamper(`update audit_entry set outcome = 'refused' where ${ofChain} and sequence = 1001`, tenant);
    expect((await world.verify(tenant, 'project')).firstBroken).toEqual({ sequence: 1_001, reason: 'changed' });
  });
});

describe('append-only for every role of the server', () => {
  const statements = [
    ['update audit_entry', `update audit_entry set action = 'bot.deleted'`],
    ['delete from audit_entry', 'delete from audit_entry'],
    ['truncate audit_entry', 'truncate audit_entry'],
    ['insert into audit_entry', `${add}, 100, hash from audit_entry`],
    ['update audit_head', 'update audit_head set length = 0'],
    ['delete from audit_head', 'delete from audit_head'],
    ['update audit_inbox', `update audit_inbox set action = 'bot.deleted'`],
    ['delete from audit_inbox', 'delete from audit_inbox'],
    ['link a row by hand', 'select link_audit_chain(gen_random_uuid(), gen_random_uuid(), 1)'],
  ] as const;

  test.each(statements)('%s is denied to the API and to the worker', async (_, sql) => {
    const tenant = await chainOf(1);
    for (const db of [world.database.api, world.database.worker]) {
      await expect(
        db.transaction(async (tx) => {
          await tx.query(`select set_config('app.organization', '${tenant.organizationId}', true), set_config('app.project', '${tenant.projectId}', true)`);
          await tx.query(sql);
        }),
      ).rejects.toMatchObject({ code: '42501' });
    }
  });

  test('the purge’s functions are the worker’s alone', async () => {
    const tenant = await chainOf(1);
    await expect(world.database.api.query('select close_audit_chain($1, $2)', [tenant.organizationId, tenant.projectId])).rejects.toMatchObject({ code: '42501' });
    await expect(world.database.api.query(`select purge_kept_rows('audit_entry', 0, 1)`)).rejects.toMatchObject({ code: '42501' });
    await expect(world.database.api.query('select link_audit(1)')).rejects.toMatchObject({ code: '42501' });
  });

  test.each([
    ['update', `update audit_entry set action = 'bot.deleted'`],
    ['delete', 'delete from audit_entry'],
    [
      'delete, in the words of a purge',
      `select set_config('app.audit_purge', (select project_id::text from audit_entry where project_id is not null limit 1), false); delete from audit_entry`,
    ],
    ['truncate', 'truncate audit_entry'],
  ])('%s is refused by the trigger to whoever row-level security does not bind', async (_, sql) => {
    const tenant = await chainOf(1);
    await expect(world.superuser.query(sql)).rejects.toMatchObject({ code: '42501', message: 'the audit log is append-only' });
    expect(await world.verify(tenant, 'project')).toMatchObject({ checked: 1, firstBroken: null });
  });
});

/** Seeded, so that a failure comes again. */
function* values(seed: number): Generator<number> {
  for (let state = seed; ;) yield (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648);
}

test('the database hashes the same text of an entry as the program, whatever the entry holds', async () => {
  const tenant = await world.createTenant();
  const random = values(4);
  const pick = <T>(list: readonly T[]): T => list[Math.floor((random.next().value as number) / 7) % list.length]!;
  const texts = [
    '',
    'plain',
    '"quoted\\"',
    'back\\slash',
    'tab\tline\nreturn\r\b\f',
    '\u0001\u001f\u007f',
    'ünïcödé',
    '漢字',
    '😀',
    '\u2028\u2029',
    '</script>',
    "o'clock",
    '{"a": 1}',
  ];
  const numbers = [0, -1, 1, 42, 1_764_500_000_000, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  const scalar = (): Scalar => pick<Scalar>([pick(texts), pick(numbers), true, false, null]);
  const maybe = <T>(value: T): T | null => pick([value, null]);
  for (let n = 0; n < 150; n += 1) {
    const who = pick(['member', 'service', 'operator', 'nobody']);
    const names = ['a', 'B', 'role', 'expiresInMs', 'zz', 'Z', 'é', 'a b', '\u{10000}'].filter(() => pick([true, false]));
    const [credential, target] = [pick([true, false]), pick([true, false])];
    await world.superuser.query(
      `insert into audit_inbox (organization_id, project_id, id, at, action, outcome, actor_kind, member_id, credential_kind, credential_id, on_behalf_of, service, target_kind, target_id, address, detail)
       values ($1, $2, $3, to_timestamp($4::float8 / 1000), $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
      [
        tenant.organizationId,
        tenant.projectId,
        uuidv7(),
        pick([0, 1, 999, 1_764_500_000_123, 253_402_300_799_999]),
        pick(texts),
        pick(['done', 'refused']),
        who,
        who === 'member' ? uuidv7() : null,
        credential ? pick(texts) : null,
        credential ? uuidv7() : null,
        maybe(uuidv7()),
        who === 'service' ? pick(texts) : null,
        target ? pick(texts) : null,
        target ? uuidv7() : null,
        maybe(pick(texts)),
        JSON.stringify(Object.fromEntries(names.map((name) => [name, scalar()]))),
      ],
    );
  }
  await world.link();
  const { entries } = await read(world.database.api, tenant, (tx) => readChain(tx, tenant, 0, 1_000));
  expect(entries).toHaveLength(150);
  entries.reduce((previous, entry) => {
    expect([entry.sequence, linkHash(previous, canonicalText(entry)), canonicalText(entry)]).toEqual([entry.sequence, entry.hash, canonicalText(entry)]);
    return entry.hash;
  }, '0'.repeat(64));
});
