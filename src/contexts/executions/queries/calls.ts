import type { CallDecision, CallReference, CallState } from '@domain/executions/call.js';
import type { ReadTx } from '@engine/tx.js';

export type CallRow = {
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
  readonly kind: string;
  readonly safety: string;
  readonly state: CallState;
  readonly late: boolean;
  readonly decided: CallDecision | null;
  readonly failure_category: string | null;
  readonly error_id: string | null;
  readonly created_at: Date;
  readonly ended_at: Date | null;
  readonly usage_status: 'confirmed' | 'estimated' | 'unknown' | null;
  readonly provider: string | null;
  readonly model: string | null;
  /** Sums of tokens come as text: the column is wider than a number. */
  readonly input_tokens: string | null;
  readonly output_tokens: string | null;
  readonly cached_input_tokens: string | null;
  readonly cache_write_tokens: string | null;
  readonly reasoning_tokens: string | null;
};

const columns = `
  c.step, c.name, c.attempt, c.kind, c.safety, c.state, c.late, c.decided, c.failure_category, c.error_id, c.created_at, c.ended_at,
  u.status as usage_status, u.provider, u.model, u.input_tokens, u.output_tokens, u.cached_input_tokens, u.cache_write_tokens, u.reasoning_tokens`;

/** Of one step, of one name, and of each the latest attempt alone. */
export type CallFilter = { readonly step: number | null; readonly name: string | null; readonly latest: boolean };

/** All attempts of a keyed call are counted as its first, because its provider did the work once; shown with the last, which has the answer. */
const countedWith = `case when c.safety <> 'keyed' then c.attempt
  when not exists (select 1 from execution_call l where l.execution_id = c.execution_id and l.step = c.step and l.name = c.name and l.attempt > c.attempt) then 1 end`;

/**
 * The calls of an execution whose reader's rights were checked, by step, name and attempt: found as its owners find them. Inputs and results stay
 * sealed where they are.
 */
export const listCalls = (tx: ReadTx, executionId: string, filter: CallFilter, page: { readonly after: CallReference | null; readonly limit: number }): Promise<CallRow[]> => {
  const { step, name, attempt } = page.after ?? { step: -1, name: '', attempt: -1 };
  return tx.query<CallRow[]>(
    `select ${columns} from calls_of($1, $6, $7, $8) c left join usage_entry u on u.execution_id = c.execution_id and u.step = c.step and u.name = c.name and u.attempt = ${countedWith}
     where (c.step, c.name, c.attempt) > ($2::int, $3::text, $4::int) order by c.step, c.name, c.attempt limit $5`,
    [executionId, step, name, attempt, page.limit, filter.step, filter.name, filter.latest],
  );
};

export async function findCallState(tx: ReadTx, executionId: string, { step, name, attempt }: CallReference): Promise<CallState | null> {
  const [row] = await tx.query<{ state: CallState | null }[]>(`select (call_of($1, $2, $3, $4)).state`, [executionId, step, name, attempt]);
  return row?.state ?? null;
}
