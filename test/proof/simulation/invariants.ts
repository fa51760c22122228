import type { Client } from 'pg';
import type { Fault } from './node.js';
import { Violation } from './violation.js';
import type { Sent } from './outside.js';

/**
 * What holds in every committed picture: each line names what is wrong with one execution, or nothing. Work that stalled three times waits by design, and
 * what the engine told itself is read with the calls: its row stays for the next commit of a phase.
 */
const picture = `
select count(*) filter (where b.ended_at is null)::int as open, array_agg(b.id || ' ' || b.wrong) filter (where b.wrong is not null) as wrong,
  (select jsonb_agg(to_jsonb(c) order by c.execution_id, c.step, c.attempt) from execution_call c where c.execution_id between $1 and $2 and c.state = 'unknown' and c.decided is null) as unknown
from (
  select x.id, x.ended_at, case
    when (select count(*) <> x.sequence or coalesce(max(e.sequence), 0) <> x.sequence from execution_event e where e.execution_id = x.id) then 'has a gap in its sequence'
    when x.open_children <> (select count(*) from execution c where c.parent_id = x.id and c.attached and c.ended_at is null) then 'counts its children wrong'
    when x.ended_at is not null and x.open_children > 0 then 'has ended before its children'
    when x.ended_at is not null or x.owner is not null then null
    when x.state = 'running' and x.runnable_at is null then 'is running, but nobody owns it and nothing wakes it'
    when (x.state = 'cancelling' or x.ending is not null) and x.runnable_at is null and x.open_children = 0 then 'is to end, but nobody owns it and nothing wakes it'
    when x.state = 'waiting' and x.ending is null and x.stalls < 3 and coalesce(x.runnable_at > clock_timestamp(), true)
      and exists (select from execution_signal s where s.execution_id = x.id and s.consumed is null and s.name <> all ('{cancel,decision,call-result}')) then 'sleeps over an unread signal'
    when x.state = 'outcome_unknown' and x.stalls < 3 and coalesce(x.runnable_at > clock_timestamp(), true)
      and not exists (select from execution_call c where c.execution_id = x.id and c.state = 'unknown' and c.decided is null) then 'sleeps over its decision'
  end as wrong
  from execution x where x.id between $1 and $2) b`;

export type UnknownCall = {
  readonly execution_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
};

/** Throws for the first broken promise; answers how many executions are open, and what waits for a decision. */
export async function checkPicture(observer: Client, [from, to]: readonly [string, string]): Promise<{ readonly open: number; readonly unknown: readonly UnknownCall[] }> {
  const { rows } = await observer.query<{ open: number; wrong: string[] | null; unknown: UnknownCall[] | null }>({ name: 'picture', text: picture, values: [from, to] });
  const [found] = rows;
  const [wrong] = found?.wrong ?? [];
  if (found?.wrong && wrong)
    throw new Violation(/gap/.test(wrong) ? 'gap-free sequences' : /children/.test(wrong) ? 'children before their parents' : 'no lost wake-up', found.wrong.join('; '));
  return { open: found?.open ?? 0, unknown: found?.unknown ?? [] };
}

/** Signals that come after the end are history. One line for each execution with something wrong at the end of everything. */
const history = `
select x.id, x.state, x.failure_category, x.cancel_number, x.cursor, x.budget_ms is not null or x.deadline is not null as limited,
  (select coalesce(array_agg(r.number order by r.number), '{}') from probe_row r where r.execution_id = x.id) as numbers,
  (select count(*)::int from execution_signal s where s.execution_id = x.id and s.consumed is null and s.name <> all ('{cancel,decision,call-result}') and s.created_at < x.ended_at) as unread,
  (select count(*)::int from execution_signal s where s.execution_id = x.id and s.name = 'child-ended') as told,
  (select count(*)::int from execution c where c.parent_id = x.id) as children,
  exists (select from execution p where p.id = x.parent_id and x.attached and p.cancel_number > 0 and x.ended_at > (select min(e.created_at) from execution_event e where e.execution_id = p.id and e.state = 'cancelling') and x.cancel_number = 0) as forgotten,
  (select count(*)::int from execution_signal s where s.execution_id = x.id and s.name = 'go' and s.created_at < x.ended_at) as sent,
  (select array_agg(e.claim_id || '#' || e.commit_number order by e.sequence) from execution_event e where e.execution_id = x.id and e.claim_id is not null) as commits,
  (select array_agg(e.sequence order by e.sequence) from (select e.sequence, e.created_at, lag(e.created_at) over (order by e.sequence) as before from execution_event e where e.execution_id = x.id) e
    where e.created_at < e.before) as backward,
  (select jsonb_agg(to_jsonb(c) - 'input' - 'result' || jsonb_build_object('known', c.result is not null and not (c.late and c.state = any ('{abandoned,unknown}')))) from execution_call c where c.execution_id = x.id) as calls,
  (select jsonb_agg(jsonb_build_object('step', u.step, 'attempt', u.attempt, 'status', u.status)) from usage_entry u where u.execution_id = x.id) as usage
from execution x where x.id between $1 and $2`;

type Call = { step: number; attempt: number; safety: string; state: string; decided: string | null; known: boolean; late: boolean };
type History = {
  id: string;
  state: string;
  failure_category: string | null;
  cancel_number: number;
  limited: boolean;
  cursor: { done: number; heard: number; steps: unknown[]; signals: number };
  numbers: number[];
  unread: number;
  sent: number;
  told: number;
  children: number;
  forgotten: boolean;
  commits: string[] | null;
  backward: number[] | null;
  calls: Call[] | null;
  usage: { step: number; attempt: number; status: string }[] | null;
};

/** What passes by itself: everything else that the engine reports is a fault of the engine. */
const passing = new Set([
  ...['claim_failed', 'sweep_failed', 'watch_failed', 'call_failed', 'reconcile_failed', 'close_failed:thing', 'close_unsaved', 'limits_failed'],
  // Nobody holds the lock by which the server knows that a node lives.
  ...['office', 'workflow_unknown', 'crashes', 'deadline_exceeded'],
]);

export async function checkHistory(observer: Client, [from, to]: readonly [string, string], sent: readonly Sent[], faults: readonly Fault[], endNumber: number): Promise<void> {
  for (const { category, cause, executionId } of faults)
    if (!passing.has(category))
      throw new Violation('no fault of its own', `${category} of ${executionId}: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`);
  const { rows } = await observer.query<History>({ name: 'history', text: history, values: [from, to] });
  for (const row of rows) {
    const wrong = [
      ...ending(row),
      ...advancing(row),
      ...calling(
        row,
        sent.filter(({ execution }) => execution === row.id),
      ),
    ].flatMap(([invariant, is]) => (is ? [invariant] : []));
    if (wrong[0]) throw new Violation(wrong[0], JSON.stringify({ ...row, sends: sent.filter(({ execution }) => execution === row.id) }));
  }

  function ending(row: History): [string, boolean][] {
    const { cursor, numbers, state } = row;
    const steps = numbers.filter((number) => number !== endNumber);
    return [
      ['cancel never lost', row.cancel_number > 0 && state !== 'cancelled'],
      ['cancel only where asked', state === 'cancelled' && row.cancel_number === 0],
      ['no failure of its own', state === 'failed' && row.failure_category !== 'crashes' && !(row.limited && row.failure_category === 'deadline_exceeded')],
      ['exactly-once rows', steps.join() !== Array.from({ length: cursor.done }, (_, index) => index + 1).join()],
      ['one end', numbers.filter((number) => number === endNumber).length > 1],
      ['all work done', state === 'completed' && (cursor.done < cursor.steps.length || cursor.heard !== row.sent || row.unread > 0)],
      ['each end told once', row.told !== row.children],
      ['a cancel reaches attached children', row.forgotten],
      ['signals once', cursor.heard > row.sent],
    ];
  }

  /** Commits of one claim follow each other by one; the commits of two never mix. */
  function advancing({ commits, backward }: History): [string, boolean][] {
    const claims: string[] = [];
    let last = 0;
    let mixed = false;
    for (const commit of commits ?? []) {
      const [claim = '', number = ''] = commit.split('#');
      if (claims.at(-1) !== claim) {
        mixed ||= claims.includes(claim);
        claims.push(claim);
      }
      mixed ||= Number(number) < last;
      last = Number(number);
    }
    return [
      ['one advancing owner', mixed],
      ['instants of a log in order', backward !== null],
    ];
  }

  function calling({ calls, usage }: History, sends: readonly Sent[]): [string, boolean][] {
    const all = calls ?? [];
    const countOf = (step: number, attempt: number): number => sends.filter((send) => send.step === step && send.attempt === attempt).length;
    return [
      ['no call left open', all.some(({ state, decided }) => state === 'intent' || state === 'sending' || (state === 'unknown' && decided === null))],
      ['a known result is kept', all.some(({ state, known, late }) => known && !late && (state === 'unknown' || state === 'abandoned'))],
      ['no second send of an unproven call', all.some(({ safety, step, attempt }) => safety === 'unproven' && countOf(step, attempt) > 1)],
      [
        'no second send of an unproven call',
        all.some(({ safety, step, attempt }) => {
          const before = all.find((call) => call.step === step && call.attempt === attempt - 1);
          return (
            safety === 'unproven' && before !== undefined && countOf(step, attempt - 1) > 0 && countOf(step, attempt) > 0 && before.decided !== 'retry' && before.state !== 'failed'
          );
        }),
      ],
      [
        'an unknown call was sent, or may have been',
        all.some(({ state, step, attempt }) => state === 'succeeded' && countOf(step, attempt) === 0 && !all.some((call) => call.step === step && call.decided === 'result')),
      ],
      [
        'usage once per call',
        all.some(
          ({ state, step, attempt, decided, safety }) =>
            state === 'succeeded' &&
            decided === null &&
            // Of a keyed call once for its key, whatever its attempts answered.
            (usage ?? []).filter((entry) => entry.step === step && (safety === 'keyed' || entry.attempt === attempt) && entry.status === 'confirmed').length !== 1,
        ),
      ],
    ];
  }
}
