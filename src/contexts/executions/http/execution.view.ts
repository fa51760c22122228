import { toCallId } from '@domain/executions/call.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ExecutionReceipt } from '../commands/cancel-execution.command.js';
import type { CallRow } from '../queries/calls.js';
import type { ExecutionRow } from '../queries/visible-execution.js';
import type { CallView, ExecutionReceiptView, ExecutionView } from './executions.dto.js';

/** The engine knows no chats: what a subject is, its workflow's name says. */
const chatWorkflow = 'turn';

const failureOf = ({ failure_category: category, error_id: errorId }: Pick<ExecutionRow, 'failure_category' | 'error_id'>) =>
  category === null ? null : { category, errorId: errorId === null ? null : toPublicId('error', errorId) };

export function toExecutionView(row: ExecutionRow): ExecutionView {
  const isTurn = row.workflow === chatWorkflow;
  return {
    id: toPublicId('execution', row.id),
    workflow: row.workflow,
    state: row.state,
    generation: row.generation,
    sequence: row.sequence,
    chat: isTurn && row.subject_id !== null ? toPublicId('chat', row.subject_id) : null,
    turn: isTurn && row.turn_id !== null ? toPublicId('turn', row.turn_id) : null,
    parent: row.parent_id === null ? null : toPublicId('execution', row.parent_id),
    createdAt: row.created_at.getTime(),
    startedAt: row.started_at?.getTime() ?? null,
    endedAt: row.ended_at?.getTime() ?? null,
    failure: failureOf(row),
  };
}

const count = (tokens: string | null): number | null => (tokens === null ? null : Number(tokens));

export const toCallView = (row: CallRow): CallView => ({
  id: toCallId(row),
  step: row.step,
  name: row.name,
  attempt: row.attempt,
  kind: row.kind,
  safety: row.safety,
  state: row.state,
  late: row.late,
  decided: row.decided,
  failure: failureOf(row),
  usage:
    row.usage_status === null
      ? null
      : {
          status: row.usage_status,
          provider: row.provider ?? '',
          model: row.model ?? '',
          inputTokens: count(row.input_tokens),
          outputTokens: count(row.output_tokens),
          cachedInputTokens: count(row.cached_input_tokens),
          cacheWriteTokens: count(row.cache_write_tokens),
          reasoningTokens: count(row.reasoning_tokens),
        },
  createdAt: row.created_at.getTime(),
  endedAt: row.ended_at?.getTime() ?? null,
});

export const toReceiptView = ({ executionId, sequence }: ExecutionReceipt, commandKey: string): ExecutionReceiptView => ({
  executionId: toPublicId('execution', executionId),
  commandKey,
  sequence,
});
