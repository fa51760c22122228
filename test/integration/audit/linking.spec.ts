import { v7 as uuidv7 } from 'uuid';
import type { AuditEvent } from '@domain/audit/entry.js';
import { fail, ok } from '@domain/result.js';
import { RecordAuditHandler } from '@contexts/audit/commands/record-audit.command.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact, transactStored } from '@platform/database/transact.js';
import { event, events, openChainWorld, type ChainWorld, type Tenant } from './chain-world.js';

let world: ChainWorld;
beforeAll(async () => {
  world = await openChainWorld();
});
afterAll(() => world.close());

const linkedIds = async ({ projectId }: Tenant): Promise<string[]> =>
  (await world.superuser.query<{ id: string }>('select id from audit_entry where project_id = $1 order by sequence', [projectId])).rows.map(({ id }) => id);

test('writers and linkers all at once: each entry has one place, and the chain holds', async () => {
  const tenants = await Promise.all([world.createTenant(), world.createTenant(), world.createTenant()]);
  let writing = true;
  const linker = async (): Promise<void> => {
    while (writing) await world.database.worker.query('select link_audit(7)');
  };
  const linkers = [linker(), linker(), linker()];
  const told = new Map(tenants.map(({ projectId }) => [projectId, new Set<string>()]));
  const writer = async (tenant: Tenant): Promise<void> => {
    for (let round = 0; round < 25; round += 1) {
      const ids = Array.from({ length: 1 + (round % 3) }, () => uuidv7());
      await world.tell(
        tenant,
        ids.map((id) => ({ ...event(), id })),
      );
      ids.forEach((id) => told.get(tenant.projectId)!.add(id));
    }
  };
  await Promise.all(tenants.flatMap((tenant) => [writer(tenant), writer(tenant)]));
  writing = false;
  await Promise.all(linkers);
  await world.link();
  for (const tenant of tenants) {
    const ids = await linkedIds(tenant);
    const all = told.get(tenant.projectId)!;
    expect(ids).toHaveLength(all.size);
    expect(new Set(ids)).toEqual(all);
    expect(await world.verify(tenant, 'project')).toMatchObject({ checked: all.size, unlinked: 0, firstBroken: null, head: { length: all.size } });
  }
});

test('an entry whose transaction commits late is linked behind what came before it, and is never passed by', async () => {
  const tenant = await world.createTenant();
  const [late, early] = [
    { ...event(), id: uuidv7() },
    { ...event(), id: uuidv7() },
  ];
  await world.tell(tenant, [late], async () => {
    await world.tell(tenant, [early]);
    expect(await world.link()).toBe(1);
    expect(await linkedIds(tenant)).toEqual([early.id]);
  });
  expect(await world.link()).toBe(1);
  expect(await linkedIds(tenant)).toEqual([early.id, late.id]);
  expect(await world.verify(tenant, 'project')).toMatchObject({ firstBroken: null, head: { length: 2 } });
});

test('what a replay tells again is one entry, also when the first is linked already', async () => {
  const tenant = await world.createTenant();
  const replayed = { ...event(), id: uuidv7() };
  await world.tell(tenant, [replayed]);
  await world.tell(tenant, [replayed]);
  await world.link();
  await world.tell(tenant, [replayed]);
  expect(await world.verify(tenant, 'project')).toMatchObject({ unlinked: 1 });
  await world.link();
  expect(await linkedIds(tenant)).toEqual([replayed.id]);
  expect(await world.verify(tenant, 'project')).toMatchObject({ unlinked: 0, firstBroken: null, head: { length: 1 } });
});

test('an entry goes with the change that it tells of', async () => {
  const tenant = await world.createTenant();
  await transact(world.database.api, tenant, async (tx) => {
    await new RecordAuditHandler().execute(new RecordAuditCommand(tx, { kind: 'operator' }, event()));
    return fail('refused');
  });
  expect(await world.link()).toBe(0);
});

test.each([
  ['a field that the catalogue does not know', { action: 'bot.created', target: uuidv7(), detail: { name: 'Planner' } }, 'has no field name'],
  ['a text where a word belongs', { action: 'member.created', target: uuidv7(), detail: { kind: 'person', role: 'said: “hello”' } }, 'role of an entry member.created is no name'],
  ['a missing field', { action: 'member.created', target: uuidv7(), detail: { kind: 'person' } }, 'role of an entry member.created is no name'],
])('%s is refused before it is stored, and its value is not named', async (_, wrong, message) => {
  const tenant = await world.createTenant();
  const refused = world.tell(tenant, [wrong as unknown as AuditEvent]);
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.not.toThrow(/hello|Planner/);
  expect(await world.link()).toBe(0);
});

describe('a purge', () => {
  const close = async ({ organizationId, projectId }: Tenant) =>
    (
      await world.database.worker.query<{ length: number; hash: string }[]>(`select o_length::int as length, encode(o_hash, 'hex') as hash from close_audit_chain($1, $2)`, [
        organizationId,
        projectId,
      ])
    )[0]!;
  const purge = async (tenant: Tenant): Promise<number> => {
    const removed = await transactStored(world.database.worker, tenant, async (tx) =>
      ok(await tx.query<{ removed: number }[]>(`select sum(purge_kept_rows(t, 0, 1000))::int as removed from unnest('{audit_inbox,audit_entry,audit_head}'::text[]) t`)),
    );
    return removed.ok ? removed.value[0]!.removed : 0;
  };
  const rowsOf = async ({ projectId }: Tenant): Promise<number> =>
    (
      await world.superuser.query<{ n: number }>(
        `select ((select count(*) from audit_inbox where project_id = $1) + (select count(*) from audit_entry where project_id = $1) + (select count(*) from audit_head where project_id = $1))::int as n`,
        [projectId],
      )
    ).rows[0]!.n;

  test('writes length and last hash into the organization’s chain, once, and then nothing of the project’s is left', async () => {
    const tenant = await world.createTenant();
    const neighbour = { organizationId: tenant.organizationId, projectId: uuidv7() };
    await world.superuser.query(`insert into project (organization_id, id, name) values ($1, $2, 'Other')`, [neighbour.organizationId, neighbour.projectId]);
    await world.tell(neighbour, events(3));
    await world.tell(tenant, events(5));
    await world.link();
    // Not linked yet: the last word counts it too.
    await world.tell(tenant, events(2));
    // Of a project that nobody deletes there is no last word.
    for (const early of [close, purge]) await expect(early(tenant)).rejects.toMatchObject({ code: '42501', message: 'this project is not being deleted' });
    await world.superuser.query(
      `insert into project_purge (organization_id, id, name, requested_by, requested_with, execution_id) values ($1, $2, 'x', gen_random_uuid(), gen_random_uuid(), gen_random_uuid())`,
      [tenant.organizationId, tenant.projectId],
    );
    const closed = await close(tenant);
    expect(closed.length).toBe(7);
    expect((await world.verify(tenant, 'project')).head).toEqual(closed);
    // A purge that was killed here comes back, also after it has removed some.
    expect(await close(tenant)).toEqual(closed);
    expect([await purge(tenant), await purge(tenant)]).toEqual([8, 0]);
    expect(await rowsOf(tenant)).toBe(0);
    await world.link();
    const { rows } = await world.superuser.query(`select action, target_id, actor_kind, service, detail from audit_entry where organization_id = $1 and project_id is null`, [
      tenant.organizationId,
    ]);
    expect(rows).toEqual([
      { action: 'project.purged', target_id: tenant.projectId, actor_kind: 'service', service: 'purge', detail: { length: closed.length, hash: closed.hash } },
    ]);
    expect(await world.verify(tenant, 'organization')).toMatchObject({ firstBroken: null, head: { length: 1 } });
    expect(await world.verify(neighbour, 'project')).toMatchObject({ firstBroken: null, head: { length: 3 } });
    await world.superuser.query('delete from project where id = $1', [tenant.projectId]);
  });
});
