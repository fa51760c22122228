import { setTimeout as delay } from 'node:timers/promises';
import type { CommandBus } from '@nestjs/cqrs';
import { Committer, OwnershipLost } from '@engine/committer.js';
import type { LoadedWork } from '@engine/loaded-work.js';
import { LateResults } from '@engine/late-results.js';
import { LeaseStore } from '@engine/lease-store.js';
import type { NodeLiveness } from '@engine/node-liveness.js';
import { unobserved } from '@engine/observer.js';
import type { EnginePorts } from '@engine/ports.js';
import { Places } from '@engine/places.js';
import { Runner } from '@engine/runner.js';
import type { Binding, OrganizationKey, Sealing } from '@engine/sealing.js';
import type { Workflows } from '@engine/workflows.js';
import type { Scheduler } from './scheduler.js';
import { Storage, type Weather } from './storage.js';
import type { SimulatedProcess } from './virtual-time.js';

export const leaseMs = 10_000;

/** Not sealed, but bound: what is opened under another binding than its own is a fault. */
const key: OrganizationKey = {
  seal: (binding, plain) => Buffer.from(JSON.stringify([binding, plain.toString()])),
  open: (binding, sealed) => {
    const [bound, plain] = JSON.parse(sealed.toString('utf8')) as [object, string];
    if (JSON.stringify(bound) !== JSON.stringify(binding)) throw new Error('opened under another binding');
    return Buffer.from(plain);
  },
  mac: (text) => Buffer.from(text),
};

/** A body that the engine opens in that place. */
export const bodyFor = (binding: Binding, value: unknown): Buffer => key.seal(binding, JSON.stringify(value));

export type Fault = { readonly category: string; readonly cause: unknown; readonly executionId: string | null };

export type NodeDeps = {
  readonly scheduler: Scheduler;
  readonly weather: Weather;
  readonly workflows: Workflows;
  /** Whether it lets others into shared limits: only where some work has one. */
  readonly servesLimits: boolean;
  readonly tookOffice: (epoch: string) => void;
  readonly fault: (fault: Fault) => void;
};

/**
 * One worker: the engine's own runner, fibers, writer, call log and committer, over a simulated connection pool and clock. Only its liveness is a
 * model, because the real one holds a connection of its own: it takes an epoch, beats, and knows its limit from before the confirmed beat was sent.
 */
export async function runNode(process: SimulatedProcess, deps: NodeDeps): Promise<void> {
  const storage = new Storage(deps.scheduler, process, deps.weather);
  for (;;) {
    try {
      await holdOffice(process, storage, deps);
    } catch (error) {
      deps.fault({ category: 'office', cause: error, executionId: null });
    }
    await delay(100);
  }
}

/** From a new epoch to the loss of the right to act under it. */
async function holdOffice(process: SimulatedProcess, storage: Storage, deps: NodeDeps): Promise<void> {
  const { pool } = storage;
  let sentAt = performance.now();
  const { rows } = await storage.query({
    text: 'insert into node (name, epoch) values ($1, 1) on conflict (name) do update set epoch = node.epoch + 1, beat = node.beat + 1, last_epoch_seen_at = node.seen_at, seen_at = clock_timestamp() returning epoch',
    values: [process.name],
  });
  const { epoch } = rows[0] as { epoch: string };
  deps.tookOffice(epoch);
  const isAlive = (): boolean => performance.now() < sentAt + leaseMs;
  const liveness = { node: process.name, epoch, isAlive } as unknown as NodeLiveness;
  const committer = new Committer(pool);
  const report = (cause: unknown, category: string): void => deps.fault({ category, cause, executionId: null });
  const places = deps.servesLimits ? new Places({ pool, report, reach: () => undefined, woken: () => runner.wake() }) : null;
  const ports: EnginePorts = {
    transact: (context, work) => storage.transact(context, work),
    recordError: (cause, { executionId, category }) => {
      deps.fault({ category, cause, executionId });
      return { category, errorId: '00000000-0000-4000-8000-000000000000' };
    },
    publicErrorId: (id) => id,
    assertOwned: () => {
      if (!isAlive()) throw new OwnershipLost('this node lost its lease');
    },
    published: () => undefined,
    told: () => undefined,
    placesFreed: () => void places?.serve(),
    reach: () => undefined,
    observer: unobserved,
  };
  const leaving = new AbortController();
  const runner: Runner = new Runner(
    {
      pool,
      liveness,
      committer,
      ports,
      commands: { execute: (phase: { perform(): Promise<unknown> }) => phase.perform() } as unknown as CommandBus,
      sealing: { keyOf: () => key } as unknown as Sealing,
      known: deps.workflows.known,
      workflowOf: (name) => deps.workflows.workflowOf(name),
      load: async ({ context, id }) => {
        const loaded = await storage.query({ name: 'openbot_load', text: 'select load_work($1, $2, $3) as work', values: [context.organizationId, context.projectId, id] });
        return (loaded.rows[0] as { work: LoadedWork }).work;
      },
      lateResults: new LateResults({ pool, published: () => undefined, reach: () => undefined, report }),
      leases: new LeaseStore(pool, leaving.signal),
      processLeaves: leaving.signal,
      report,
      ...(places ? { places } : {}),
      timeLeft: async ({ context, id }) => {
        const left = await storage.query({ name: 'openbot_time_left', text: 'select time_left($1, $2, $3) as ms', values: [context.organizationId, context.projectId, id] });
        return (left.rows[0] as { ms: number | null }).ms;
      },
    },
    { slots: 20, leaseMs, graceMs: 1_000 },
  );
  try {
    await runner.start();
    for (;;) {
      await delay(leaseMs / 3);
      if (!isAlive()) return;
      const beatSentAt = performance.now();
      const beaten = await storage
        .query({ text: 'update node set beat = beat + 1, seen_at = clock_timestamp() where name = $1 and epoch = $2', values: [process.name, epoch] })
        .catch(() => null);
      if (beaten?.rowCount === 0) return;
      if (beaten) sentAt = beatSentAt;
    }
  } finally {
    leaving.abort();
    await runner.lose();
  }
}
