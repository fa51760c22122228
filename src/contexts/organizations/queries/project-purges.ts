import type { ReadTx, Tx } from '@engine/tx.js';

/** `completed`: nothing of the project is left. `leftovers`: no row is, but objects that could not be removed. */
export const purgeStates = ['stopping', 'objects', 'rows', 'leftovers', 'completed'] as const;
export type PurgeState = (typeof purgeStates)[number];

/** The receipt, which is complete as soon as the purge is. Its id is the project's. */
export type ProjectPurge = {
  readonly id: string;
  readonly name: string;
  readonly requestedBy: string;
  readonly executionId: string;
  readonly state: PurgeState;
  readonly callsSettled: number;
  readonly leasesLeft: number;
  readonly objectsRemoved: number;
  readonly objectsFailed: number;
  /** Some of them. */
  readonly failedObjects: readonly string[];
  /** How many were removed, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** The end of the project's audit chain; `null` until its work has ended. */
  readonly auditLength: number | null;
  readonly auditHash: Buffer | null;
  readonly requestedAt: Date;
  readonly movedAt: Date;
  readonly completedAt: Date | null;
};

export const failedObjectsLimit = 100;

const columns = `id, name, requested_by as "requestedBy", execution_id as "executionId", state, calls_settled as "callsSettled", leases_left as "leasesLeft",
  objects_removed::float8 as "objectsRemoved", objects_failed as "objectsFailed", failed_objects as "failedObjects", rows,
  audit_length::float8 as "auditLength", audit_hash as "auditHash", requested_at as "requestedAt", moved_at as "movedAt",
  completed_at as "completedAt"`;
const own = `from project_purge where organization_id = tenant_organization()`;

export async function findPurge(tx: ReadTx, id: string): Promise<ProjectPurge | null> {
  const [row] = await tx.query<ProjectPurge[]>(`select ${columns} ${own} and id = $1`, [id]);
  return row ?? null;
}

/** One page, oldest first. */
export const listPurges = (tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<ProjectPurge[]> =>
  tx.query<ProjectPurge[]>(
    `select ${columns} ${own} and ($1::uuid is null or (requested_at, id) > (select p.requested_at, p.id from project_purge p where p.organization_id = tenant_organization() and p.id = $1))
     order by requested_at, id limit $2`,
    [page.after, page.limit],
  );

/** Rows that are gone, of all tables. */
export async function countRemoved(tx: ReadTx, id: string): Promise<number> {
  const [row] = await tx.query<{ removed: number }[]>(
    `select coalesce(sum(r.value::bigint), 0)::float8 as removed from project_purge p cross join jsonb_each_text(p.rows) r where p.organization_id = tenant_organization() and p.id = $1`,
    [id],
  );
  return row?.removed ?? 0;
}

/** Nothing is written in the project any more: says once and for all how its audit chain ended, here and in the organization's chain. */
export const closeAuditChain = (tx: Tx, id: string): Promise<unknown> =>
  tx.query(
    `update project_purge p set audit_length = c.o_length, audit_hash = c.o_hash from close_audit_chain(tenant_organization(), $1) c
     where p.organization_id = tenant_organization() and p.id = $1`,
    [id],
  );

export type NewPurge = Pick<ProjectPurge, 'id' | 'name' | 'requestedBy' | 'executionId' | 'callsSettled'> & { readonly requestedWith: string };

/** From here on nothing begins in the project: its writers are excluded. */
export const insertPurge = (tx: Tx, { id, name, requestedBy, requestedWith, executionId, callsSettled }: NewPurge): Promise<unknown> =>
  tx.query(
    `insert into project_purge (organization_id, id, name, requested_by, requested_with, execution_id, calls_settled) values (tenant_organization(), $1, $2, $3, $4, $5, $6)`,
    [id, name, requestedBy, requestedWith, executionId, callsSettled],
  );

/** What a step has done, in the transaction of that step, so that each counts once. */
export type Progress = {
  readonly state: PurgeState;
  readonly callsSettled?: number;
  readonly leasesLeft?: number;
  readonly objectsRemoved?: number;
  /** Of the whole round, and not of the step. */
  readonly failures?: { readonly count: number; readonly some: readonly string[] };
  /** By table. */
  readonly removed?: Readonly<Record<string, number>>;
};

export const saveProgress = (tx: Tx, id: string, { state, callsSettled = 0, leasesLeft, objectsRemoved = 0, failures, removed = {} }: Progress): Promise<unknown> =>
  tx.query(
    `update project_purge set state = $2, moved_at = clock_timestamp(), calls_settled = calls_settled + $3, leases_left = coalesce($4, leases_left), objects_removed = objects_removed + $5,
       objects_failed = coalesce($6, objects_failed), failed_objects = coalesce($7, failed_objects),
       rows = rows || (select coalesce(jsonb_object_agg(n.key, coalesce((rows->>n.key)::bigint, 0) + n.value::bigint), '{}') from jsonb_each_text($8::jsonb) n),
       completed_at = case when $2 = 'completed' then clock_timestamp() end
     where organization_id = tenant_organization() and id = $1`,
    [id, state, callsSettled, leasesLeft ?? null, objectsRemoved, failures?.count ?? null, failures?.some ?? null, removed],
  );
