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

/** The calls of an execution whose reader's rights were checked, by step, name and attempt. Inputs and results stay sealed where they are. */
export const listCalls = (tx: ReadTx, executionId: string, page: { readonly after: CallReference | null; readonly limit: number }): Promise<CallRow[]> => {
  const { step, name, attempt } = page.after ?? { step: -1, name: '', attempt: -1 };
  return tx.query<CallRow[]>(
    `select ${columns} from execution_call c left join usage_entry u using (execution_id, step, name, attempt)
     where c.execution_id = $1 and (c.step, c.name, c.attempt) > ($2::int, $3::text, $4::int) order by c.step, c.name, c.attempt limit $5`,
    [executionId, step, name, attempt, page.limit],
  );
};

export async function findCallState(tx: ReadTx, executionId: string, { step, name, attempt }: CallReference): Promise<CallState | null> {
  const [row] = await tx.query<{ state: CallState }[]>(`select state from execution_call where execution_id = $1 and step = $2 and name = $3 and attempt = $4`, [
    executionId,
    step,
    name,
    attempt,
  ]);
  return row?.state ?? null;
}
