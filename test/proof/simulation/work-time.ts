import type { Client } from 'pg';
import { Violation } from './violation.js';

export const budgetMs = 3_600_000;
export const deadlineMs = 3 * 3_600_000;
const passedMs = 2 * 3_600_000;
/** A world takes real seconds, too. */
const slackMs = 120_000;

/** Work whose own time may run now: it was begun, and neither stands unowned behind a takeover nor waits for a person. */
const mayRun = `select x.id from execution x where x.id between $1 and $2 and x.budget_ms is not null and x.ended_at is null and x.started_at is not null
  and not (x.owner is null and x.state in ('running', 'outcome_unknown'))`;

/** What an open transaction holds stays where it is: its time passes later. */
const moved = `
with heads as (
  update execution set runnable_at = runnable_at + $1::interval, wait_until = wait_until + $1::interval, deadline = deadline + $1::interval,
    ran_from = case when attached and parent_id is not null then ran_from else ran_from + (extract(epoch from $1::interval) * 1000)::bigint end
  where id in (
    select id from execution where id between $3 and $4 and ended_at is null and (isfinite(runnable_at) or isfinite(wait_until) or deadline is not null or budget_ms is not null) order by id for no key update skip locked)
  returning 1),
permits as (
  update permit set expires_at = expires_at + $1::interval where ctid in (select ctid from permit where $2 and expires_at is not null for no key update skip locked)),
buckets as materialized (select organization_id, name from token_bucket where $2 for no key update skip locked),
filled as (update token_bucket t set as_of = as_of + $1::interval from buckets b where t.organization_id = b.organization_id and t.name = b.name),
reservations as (
  update token_reservation set ready_at = ready_at + $1::interval where ctid in (
    select r.ctid from token_reservation r join buckets b on b.organization_id = r.organization_id and b.name = r.bucket for no key update of r skip locked))
update node set seen_at = seen_at + $1::interval, last_epoch_seen_at = last_epoch_seen_at + $1::interval
  where name in (select name from node for no key update skip locked)`;

/** The database's clock of one world, and how much of its time each work can have had, by what everybody can see from outside. */
export class WorkTime {
  private readonly ran = new Map<string, number>();
  private passed = 0;

  constructor(
    private readonly observer: Client,
    private readonly range: readonly [string, string],
  ) {}

  /** Every stored instant comes nearer. */
  async pass(): Promise<void> {
    const { rows } = await this.observer.query<{ id: string }>(mayRun, [...this.range]);
    for (const { id } of rows) this.ran.set(id, this.ranMs(id) + passedMs);
    this.passed += passedMs;
    await this.observer.query(moved, ['-2 hours', true, ...this.range]);
  }

  /** What is stored goes away. Limits stay as they are: what they let out they have let out. */
  async stepBack(): Promise<void> {
    await this.observer.query(moved, ['1 hour', false, ...this.range]);
  }

  /** The most that this work can have run. */
  ranMs = (id: string): number => this.ran.get(id) ?? 0;

  /** Work may end for its time once, and only when it has had that time. */
  async check(): Promise<void> {
    const { rows } = await this.observer.query<{ id: string; budget_ms: string | null; deadline: Date | null; failures: number }>(
      `select x.id, x.budget_ms, x.deadline, (select count(*)::int from execution_event e where e.execution_id = x.id and e.type = 'Failure') as failures
       from execution x where x.id between $1 and $2 and x.failure_category = 'deadline_exceeded'`,
      [...this.range],
    );
    for (const { id, budget_ms: budget, deadline, failures } of rows) {
      if (failures > 1) throw new Violation('work ends once for its time', id);
      const hadBudget = budget !== null && this.ranMs(id) + slackMs >= Number(budget);
      const hadDeadline = deadline !== null && this.passed + slackMs >= deadlineMs;
      if (!hadBudget && !hadDeadline) throw new Violation('no time is counted that the work did not have', `${id} had ${this.ranMs(id)} of ${budget} ms`);
    }
  }
}
