import { v7 as uuidv7 } from 'uuid';
import type { SafeFailure } from '@domain/executions/failures.js';
import type { TurnProgress } from '@core/turn.js';

export const turnWorkflow = { workflow: 'turn', version: 1 } as const;

/** How far a turn is. Ids, counters and flags only: everything that was said is in the chat's items. */
export type TurnCursor = {
  readonly turnId: string;
  /** `null` until the turn has taken its inputs. */
  readonly progress: TurnProgress | null;
  /** The latest attempt of the model step at hand whose failure has been dealt with. */
  readonly consumed: number;
  /** Milliseconds on the database's clock before which the model is not asked again. */
  readonly retryAt: number | null;
  /** Whether an answer would leave open todos that the bot was not reminded of. */
  readonly reminderDue: boolean;
  /** Why the turn ends without an answer. */
  readonly failure: SafeFailure | null;
  /** Reserved for the execution of a turn that takes over unread steers, so that the end knows it before it locks. */
  readonly successorId: string;
};

export const newTurnCursor = (turnId: string): TurnCursor => ({
  turnId,
  progress: null,
  consumed: 0,
  retryAt: null,
  reminderDue: false,
  failure: null,
  successorId: uuidv7(),
});

/** The progress of a turn that has begun. */
export function progressOf(cursor: TurnCursor): TurnProgress {
  if (!cursor.progress) throw new Error('a phase of a turn that has not begun');
  return cursor.progress;
}

/** Every turn belongs to a chat. */
export function chatOf(subjectId: string | null): string {
  if (subjectId === null) throw new Error('a turn without a chat');
  return subjectId;
}
