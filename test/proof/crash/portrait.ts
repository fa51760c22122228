import type { Pool } from 'pg';
import type { Sealing } from '@engine/sealing.js';
import { logOf, rowsOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import type { Outside } from './outside.js';

/** What is left of one execution when it is over: everything that a disturbance must not change, and nothing that it may. */
export type Portrait = {
  readonly state: string;
  readonly cursor: unknown;
  readonly states: readonly string[];
  /** By step: the answer, and the words of the attempt that gave it. */
  readonly texts: Readonly<Record<number, string>>;
  readonly words: Readonly<Record<number, string>>;
  readonly rows: readonly number[];
  /** State and rows of the work below it. */
  readonly children: readonly string[];
  /** What is left open of what it held. */
  readonly leases: number;
  /** What the feed of the project told of the work and of what is below it. */
  readonly feed: readonly string[];
  /** Each unknown outcome was told too, and once. */
  readonly told: boolean;
  /** Latest attempts. */
  readonly calls: readonly string[];
  /** By call. An attempt that reached the outside before its process was paused is billed beside the one that followed it, and nothing else is. */
  readonly usage: readonly string[];
  readonly overbilled: boolean;
  readonly effects: Readonly<Record<string, number>>;
  /** The most of the work below it that were outside at once. */
  readonly crowd: number;
  readonly gapless: boolean;
};

export type Studio = { readonly superuser: Pool; readonly sealing: Sealing; readonly organizationId: string; readonly outside: Outside };

/** How often it waits is a matter of who is faster, it or its child. */
const waitingOnce = (states: readonly string[]): string[] =>
  states
    .join(' ')
    .replace(/(waiting running )+/g, 'waiting running ')
    .split(' ');

const unknown = 'execution.outcome_unknown';

/** Numbered and complete: nothing of it is left in the inbox. Positions are the project's, without a gap. */
async function feedOf(superuser: Pool, id: string): Promise<readonly string[]> {
  const family = '(select x.id from execution x where x.id = $1 or x.parent_id = $1)';
  await eventually(async () => (await rowsOf(superuser, `select 1 from product_event_inbox i where i.aggregate_id in ${family}`, [id])).length === 0);
  const [project] = await rowsOf<{ gapless: boolean }>(
    superuser,
    `select count(*) = coalesce(max(e.position), 0) as gapless from product_event e where e.project_id = (select x.project_id from execution x where x.id = $1)`,
    [id],
  );
  const told = await rowsOf<{ type: string }>(superuser, `select e.type from product_event e where e.aggregate_id in ${family}`, [id]);
  return [...told.map(({ type }) => type), ...(project?.gapless ? [] : ['a gap'])];
}

export async function portraitOf({ superuser, sealing, organizationId, outside }: Studio, id: string): Promise<Portrait> {
  const [head] = await rowsOf(superuser, 'select state, cursor, sequence from execution where id = $1', [id]);
  const log = await logOf(superuser, sealing, organizationId, id);
  const [rows, calls, usage] = await Promise.all([
    rowsOf<{ number: number }>(superuser, 'select number from probe_row where execution_id = $1 order by number', [id]),
    rowsOf<{ call: string; attempt: number; step: number }>(
      superuser,
      `select distinct on (step, name) step, attempt, step || ':' || name || ' ' || state as call from execution_call where execution_id = $1 order by step, name, attempt desc`,
      [id],
    ),
    rowsOf<{ entry: string }>(
      superuser,
      `select step || ':' || name || ' ' || input_tokens || '/' || output_tokens as entry from usage_entry where execution_id = $1 and status = 'confirmed' order by 1`,
      [id],
    ),
  ]);
  const children = await rowsOf<{ child: string }>(
    superuser,
    `select concat_ws(' ', x.state, (select string_agg(number::text, ',') from probe_row r where r.execution_id = x.id)) as child from execution x where x.parent_id = $1`,
    [id],
  );
  const feed = await feedOf(superuser, id);
  const leases = await rowsOf(superuser, `select 1 from resource_lease where execution_id = $1 and state <> 'closed'`, [id]);
  const latest = new Map(calls.map(({ step, attempt }) => [step, attempt]));
  const texts: Record<number, string> = {};
  const words: Record<number, string> = {};
  for (const event of log) {
    if (event._tag === 'ToolResult') texts[event.step] = (texts[event.step] ?? '') + event.callId;
    if (event._tag === 'Reasoning' && event.attempt === latest.get(event.step)) words[event.step] = (words[event.step] ?? '') + event.delta;
  }
  return {
    state: String(head?.['state']),
    cursor: head?.['cursor'],
    states: waitingOnce(log.flatMap((event) => (event._tag === 'State' ? [event.state] : []))),
    texts,
    words,
    rows: rows.map(({ number }) => number),
    children: children.map(({ child }) => child).sort(),
    feed: feed.filter((told) => told !== unknown).sort(),
    told: feed.filter((told) => told === unknown).length === log.filter((event) => event._tag === 'State' && event.state === 'outcome_unknown').length,
    leases: leases.length,
    calls: calls.map(({ call }) => call),
    usage: [...new Set(usage.map(({ entry }) => entry))],
    overbilled: usage.length > outside.requestsOf(id).length,
    effects: outside.effectsOf(id),
    crowd: outside.crowdOf(id),
    gapless: log.every(({ sequence }, index) => sequence === index + 1) && head?.['sequence'] === log.length,
  };
}

/** How a call that waited for a decision differs: the work waited once more, and what the person says is not what the provider billed. */
export function withDecision(undisturbed: Portrait, step: number, decision: 'result' | 'retry'): Portrait {
  const [queued = '', running = '', ...rest] = undisturbed.states;
  const states = [queued, running, 'outcome_unknown', 'running', ...rest];
  if (decision === 'retry') return { ...undisturbed, states };
  return { ...undisturbed, states, usage: undisturbed.usage.filter((entry) => !entry.startsWith(`${step}:`)) };
}
