import type { Owner } from '@engine/owner-watch.js';
import type { Replication } from '@platform/database/replication.js';
import type { IdKind } from '@domain/ids.js';
import { toPublicId } from '@platform/ids/typeid.js';

/** Asks the database within its time; each question is a transaction of its own. */
export type Ask = <R extends object>(text: string, values?: readonly unknown[]) => Promise<R[]>;

export type Seen = { readonly count: number; readonly examples?: readonly string[]; readonly more?: boolean; readonly detail?: string };
/** `null`: what the check looks at is not there, so that nothing can be wrong with it. */
export type Check = { readonly name: string; readonly advice: string; readonly absent?: string; readonly look: (ask: Ask, owners: Owners) => Promise<Seen | null> };
export type Owners = {
  /** Owners of work that did not show life for a whole lease. */
  readonly lifeless: () => Promise<readonly Owner[]>;
  /** What stays as it is for a whole lease; less is a node between two of its connections. */
  readonly lasting: (look: () => Promise<Seen | null>) => Promise<Seen | null>;
};

const limit = 10_000;
/** Ready work that waits longer than this is waiting for a worker, and not for its turn. */
const patienceSeconds = 60;
/** A purge that makes no step for so long is held up. */
const purgePatienceSeconds = 600;
const newest = 200;
const lastEvents = 1_000;
/** Beyond both, autovacuum does not keep up: it starts at a fiftieth of the busiest table and a fifth of the others. */
const deadTuples = 50_000;
const deadShare = 0.4;
const hotTables = ['execution', 'execution_event', 'execution_call', 'execution_signal', 'chat', 'chat_turn'];

type Found = { readonly found: string; readonly examples: readonly string[] | null; readonly more?: boolean; readonly oldest_seconds?: number | null };

const age = (seconds: number): string => (seconds < 120 ? `${seconds.toFixed(1)} s` : seconds < 7_200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3_600).toFixed(1)} h`);

function seen([row]: readonly Found[], kind: IdKind = 'execution'): Seen {
  if (!row) throw new Error('a check answered no row');
  const { oldest_seconds: seconds } = row;
  return {
    count: Number(row.found),
    examples: (row.examples ?? []).map((id) => toPublicId(kind, id)),
    more: row.more ?? false,
    ...(seconds === null || seconds === undefined ? {} : { detail: `oldest ${age(seconds)}` }),
  };
}

async function ownedByLifeless(ask: Ask, owners: Owners): Promise<Seen> {
  const all = await owners.lifeless();
  const held = await Promise.all(all.map(async ({ owner, epoch }) => seen(await ask<Found>('select * from doctor_owned_by($1, $2)', [owner, epoch]))));
  const count = held.reduce((sum, each) => sum + each.count, 0);
  return { count, examples: held.flatMap(({ examples = [] }) => examples).slice(0, 5), ...(count > 0 ? { detail: `owners: ${all.map(({ owner }) => owner).join(', ')}` } : {}) };
}

/** Names of workflows and their versions are names in code. Where no worker lives, nobody knows any: old ready work says so. */
async function unknownWorkflows(ask: Ask): Promise<Seen | null> {
  const [workers] = await ask<{ live: boolean }>('select exists (select 1 from node n where node_lives(n.name)) as live');
  if (!workers?.live) return null;
  const rows = await ask<{ workflow: string; version: number; executions: string }>('select workflow, version, executions from unknown_workflows()');
  return { count: rows.reduce((sum, { executions }) => sum + Number(executions), 0), examples: rows.slice(0, 5).map(({ workflow, version }) => `${workflow}:${version}`) };
}

function replicated([row]: readonly Replication[]): Seen {
  if (!row) throw new Error('a check answered no row');
  return { count: row.status === 'asynchronous' ? 1 : 0, detail: row.status === 'single' ? 'no standby' : `${row.standbys} ${row.standbys === 1 ? 'standby' : 'standbys'}` };
}

type TableFigures = { readonly name: string; readonly live: string; readonly dead: string; readonly updated: string; readonly hot: string };

async function tables(ask: Ask): Promise<Seen> {
  const rows = await ask<TableFigures>(
    `select relname as name, n_live_tup as live, n_dead_tup as dead, n_tup_upd as updated, n_tup_hot_upd as hot from pg_stat_user_tables where schemaname = 'public' and relname = any ($1) order by n_dead_tup desc`,
    [hotTables],
  );
  const behind = rows.filter(({ live, dead }) => Number(dead) > deadTuples && Number(dead) > deadShare * Number(live));
  const hot = rows.filter(({ updated }) => Number(updated) > 0).map(({ name, updated, hot: share }) => `${name} ${Math.round((100 * Number(share)) / Number(updated))} %`);
  const dead = rows.reduce((sum, row) => sum + Number(row.dead), 0);
  return { count: behind.length, examples: behind.map(({ name }) => name).slice(0, 5), detail: `${dead} dead tuples${hot.length > 0 ? `; HOT updates: ${hot.join(', ')}` : ''}` };
}

/** Only an owner knows what it runs. `strays`: what this process owns and does not run. */
export const ownedButUnknown = (strays: (() => Promise<readonly string[]>) | null): Check => ({
  name: 'owned-but-unknown-to-owner',
  advice: 'This node gives the work back within a lease: if the count stays, restart the node and report it as a fault.',
  absent: 'each node answers it at /doctor of its private port',
  look: async () => {
    if (!strays) return null;
    const ids = await strays();
    return { count: ids.length, examples: ids.slice(0, 5).map((id) => toPublicId('execution', id)) };
  },
});

/** Everything that the database alone can answer, in the order in which a person should read it. */
export const checks: readonly Check[] = [
  {
    name: 'running-without-live-owner',
    advice: 'Another node takes this work over within a lease: if the count stays, start a worker on this database or look why the running ones cannot reach it.',
    look: ownedByLifeless,
  },
  {
    name: 'waiting-without-waker',
    advice: 'Nothing will ever wake this work: cancel each execution, and report it as a fault with the ids and the version.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_parked($1)', [limit])),
  },
  {
    name: 'sequence-gaps',
    advice: 'Events are missing behind their heads: look whether the database was restored or failed over without its last commits, and compare with a backup.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_gaps($1, $2)', [newest, lastEvents])),
  },
  {
    name: 'oldest-ready',
    advice: `Work has been ready for more than ${patienceSeconds} s and nobody claims it: start a worker of the version that knows it, or add slots and workers.`,
    look: async (ask) => seen(await ask<Found>('select * from doctor_ready($1, $2)', [limit, patienceSeconds])),
  },
  {
    name: 'unknown-workflows',
    advice:
      'No running worker knows these workflows in these versions, and the work stays where it is: start a worker of a version that does, as before an update or after going back.',
    absent: 'no worker runs that could know them',
    look: (ask, owners) => owners.lasting(() => unknownWorkflows(ask)),
  },
  {
    name: 'unknown-calls',
    advice: 'Nobody knows whether these calls took effect outside: look there, then settle each with POST /v1/executions/<id>/decisions.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_unknown($1)', [limit])),
  },
  {
    name: 'unsettled-leases',
    advice:
      'Nobody knows whether these things outside are closed, and nobody else gets them: show each with node dist/src/cli.js lease <id>, look at the thing and close it, then run the same with --released-by <your name>. One whose close failed is tried again while its node lives: node dist/src/cli.js error <its error> says why it fails.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_leases($1)', [limit]), 'lease'),
  },
  {
    name: 'leases-without-live-owner',
    advice:
      'The process that opened these things is gone: the next owner of the work marks them as unknown, or its driver proves that they are closed. If the count stays, start a worker, or settle each as an unknown one with node dist/src/cli.js lease <id> --released-by <your name>.',
    look: (ask, owners) => owners.lasting(async () => seen(await ask<Found>('select * from doctor_abandoned_leases($1)', [limit]), 'lease')),
  },
  {
    name: 'events-without-position',
    advice: 'Readers of the feed and webhooks do not see these events: start a worker, or look at the log of the running ones why they cannot number them.',
    look: async (ask) => seen(await ask<Found>('select found, null::uuid[] as examples, more, oldest_seconds from doctor_unnumbered($1, $2)', [limit, patienceSeconds])),
  },
  {
    name: 'purges-unfinished',
    advice:
      'These deleted projects are not gone: GET /v1/organization/project-purges/<id> says how far each is, and which objects could not be removed; make those removable, and they are tried again within the hour. One that does not move on waits for work or leases of its project that do not end, for the object store, or for a worker.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_purges($1, $2)', [limit, purgePatienceSeconds]), 'purge'),
  },
  {
    name: 'audit-entries-without-place',
    advice: 'These entries of the audit log are in no chain yet, and in no export: start a worker, or look at the log of the running ones why they cannot link them.',
    look: async (ask) => seen(await ask<Found>('select found, null::uuid[] as examples, more, oldest_seconds from doctor_unlinked($1, $2)', [limit, patienceSeconds]), 'audit'),
  },
  {
    name: 'children-miscounted',
    advice: 'This work waits for children that it does not have, or may end before those that it has: report it as a fault with the ids and the version.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_children($1)', [newest])),
  },
  {
    name: 'permits-without-call',
    advice: 'Calls that ended hold places in a limit, so that others wait: start a worker if none runs, and report it as a fault if the count stays.',
    look: async (ask) => seen(await ask<Found>('select * from doctor_permits($1, $2)', [limit, patienceSeconds])),
  },
  {
    name: 'asynchronous-replication',
    advice: 'A failover loses acknowledged commits that a standby has not received: set synchronous_standby_names (docs/failover.md).',
    look: async (ask) => replicated(await ask<Replication>('select status, standbys, synchronous from replication_status()')),
  },
  {
    name: 'dead-tuples',
    advice: 'Autovacuum does not keep up with these tables: look for a transaction or replication slot that has been open for long, then run VACUUM on them.',
    look: tables,
  },
];
