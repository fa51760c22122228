import type { CounterConfiguration, HistogramConfiguration, Registry } from 'prom-client';
import type { EngineObserver } from '@engine/observer.js';

/** Answers of the database and of the engine's loops. */
const shortSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Calls of models and tools, and waiting for a place. */
const longSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const items = [1, 2, 4, 8, 16, 32, 64, 128, 200];

export type HttpAnswer = { readonly method: string; readonly route: string; readonly status: number; readonly ms: number };

export type Figure = { readonly labels?: Readonly<Record<string, string>>; readonly value: number };

export type Metrics = {
  readonly registry: Registry;
  readonly engine: EngineObserver;
  /** `route` is the template of the route, never a path that somebody asked for. */
  answered(answer: HttpAnswer): void;
  /** Figures that are read when the page is: `gauge` goes up and down, `count` has been counted since the start. */
  gauge(name: string, help: string, read: () => readonly Figure[]): void;
  count(name: string, help: string, read: () => readonly Figure[]): void;
};

/** What is a name in code or a member of a union is a label; ids, tenants, paths, models and texts are none. */
export async function startMetrics(): Promise<Metrics> {
  const { Registry: OwnRegistry, Counter, Gauge, Histogram, collectDefaultMetrics } = await import('prom-client');
  const registry = new OwnRegistry();
  collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(about: Omit<CounterConfiguration<L>, 'registers'>) => new Counter<L>({ ...about, registers: [registry] });
  const histogram = <L extends string>(about: Omit<HistogramConfiguration<L>, 'registers'>) => new Histogram<L>({ ...about, registers: [registry] });
  const http = histogram({
    name: 'openbot_http_request_duration_seconds',
    help: 'Answered HTTP requests by route template; event streams are not among them.',
    labelNames: ['method', 'route', 'status'],
    buckets: shortSeconds,
  });
  return {
    registry,
    engine: engineMetrics(counter, histogram),
    answered: ({ method, route, status, ms }) => http.observe({ method, route, status: String(status) }, ms / 1_000),
    gauge: (name, help, read) =>
      void new Gauge({
        name,
        help,
        labelNames: labelsOf(read),
        registers: [registry],
        collect() {
          this.reset();
          for (const { labels = {}, value } of read()) this.set(labels, value);
        },
      }),
    count: (name, help, read) =>
      void new Counter({
        name,
        help,
        labelNames: labelsOf(read),
        registers: [registry],
        collect() {
          this.reset();
          for (const { labels = {}, value } of read()) this.inc(labels, value);
        },
      }),
  };
}

const labelsOf = (read: () => readonly Figure[]): string[] => Object.keys(read()[0]?.labels ?? {});

type Make = {
  counter: <L extends string>(about: Omit<CounterConfiguration<L>, 'registers'>) => import('prom-client').Counter<L>;
  histogram: <L extends string>(about: Omit<HistogramConfiguration<L>, 'registers'>) => import('prom-client').Histogram<L>;
};

function engineMetrics(counter: Make['counter'], histogram: Make['histogram']): EngineObserver {
  const claims = counter({ name: 'openbot_executions_claimed_total', help: 'Claims, by workflow.', labelNames: ['workflow'] });
  const stalls = counter({ name: 'openbot_stalled_claims_total', help: 'Claims of work whose last owner committed nothing.', labelNames: ['workflow'] });
  const waited = histogram({
    name: 'openbot_claim_wait_seconds',
    help: 'From ready to claimed: of new work since its admission (its place behind other work included), of a timer since its instant.',
    labelNames: ['since'],
    buckets: longSeconds,
  });
  const ends = counter({ name: 'openbot_executions_ended_total', help: 'Ended work, by workflow and end state.', labelNames: ['workflow', 'state'] });
  const commits = counter({ name: 'openbot_commits_total', help: 'Numbered commits, by the answer of the database.', labelNames: ['outcome'] });
  const statements = histogram({
    name: 'openbot_commit_statement_duration_seconds',
    help: 'Statements of the group commit until their answer: grouped, alone, or sent again.',
    labelNames: ['path'],
    buckets: shortSeconds,
  });
  const lost = counter({ name: 'openbot_commit_statements_unanswered_total', help: 'Statements of the group commit that got an error or no answer.', labelNames: ['path'] });
  const size = histogram({ name: 'openbot_commit_batch_items', help: 'Commits in one grouped statement.', buckets: items });
  const phases = histogram({ name: 'openbot_phase_duration_seconds', help: 'Phases, by name.', labelNames: ['phase'], buckets: longSeconds });
  const calls = histogram({
    name: 'openbot_call_duration_seconds',
    help: 'Outside calls that were sent, by kind, safety and outcome.',
    labelNames: ['kind', 'safety', 'outcome'],
    buckets: longSeconds,
  });
  const takeovers = counter({ name: 'openbot_takeovers_total', help: 'Work taken from an owner that is gone, or given back by this node.', labelNames: ['from'] });
  const leases = counter({ name: 'openbot_lease_losses_total', help: 'Times that this node lost its lease and started anew.' });
  return {
    claimed: ({ workflow, stalls: stalled }, ready) => {
      claims.inc({ workflow });
      if (stalled > 0) stalls.inc({ workflow });
      if (ready) waited.observe({ since: ready.since }, Math.max(0, ready.ms) / 1_000);
    },
    duringRun: (_head, work) => work(),
    duringPhase: async (_head, phase, work) => {
      const stop = phases.startTimer({ phase });
      return work().finally(stop);
    },
    duringCall: async (_head, { kind, safety }, work, outcomeOf, outcomeOfThrow) => {
      const stop = calls.startTimer({ kind, safety });
      try {
        const result = await work();
        stop({ outcome: outcomeOf(result) });
        return result;
      } catch (error) {
        stop({ outcome: outcomeOfThrow() });
        throw error;
      }
    },
    committed: ({ workflow }, { outcome, release, state }) => {
      commits.inc({ outcome });
      if (release === 'end' && (outcome === 'applied' || outcome === 'already')) ends.inc({ workflow, state });
    },
    sent: (path, count, ms) => {
      if (ms === null) lost.inc({ path });
      else statements.observe({ path }, ms / 1_000);
      if (path === 'grouped') size.observe(count);
    },
    tookOver: (from, count) => takeovers.inc({ from }, count),
    lostLease: () => leases.inc(),
  };
}
