import { Injectable } from '@nestjs/common';
import { nextOfTurn } from '@core/turn.js';
import { end, phase, wait, Workflow, type Aggregate, type Next, type Outcome, type Saga, type Stored, type Wake } from '@engine/saga.js';
import type { Tx } from '@engine/tx.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { endTurn, headsOfEnd } from './end-turn.js';
import { ModelStep } from './phases/model-step.js';
import { PrepareTurn } from './phases/prepare-turn.js';
import { RemindOfTodos } from './phases/remind-of-todos.js';
import { ToolStep } from './phases/tool-step.js';
import { chatOf, turnWorkflow, type TurnCursor } from './turn-cursor.js';

/** One pass of the bot: it reads its inputs, then asks the model and runs tools by turns until there is an answer. */
@Injectable()
@Workflow(turnWorkflow.workflow, { version: turnWorkflow.version })
export class TurnSaga implements Saga<TurnCursor> {
  constructor(private readonly sealer: Sealer) {}

  next({ cursor }: Stored<TurnCursor>, wake: Wake): Next {
    if (cursor.failure) return end('failed', cursor.failure);
    if (!cursor.progress) return phase(PrepareTurn);
    if (cursor.retryAt !== null && wake.now.getTime() < cursor.retryAt) return wait({ until: new Date(cursor.retryAt) });
    const next = nextOfTurn(cursor.progress, { reminderDue: cursor.reminderDue });
    switch (next._tag) {
      case 'ModelStep':
        return phase(ModelStep);
      case 'ToolCall':
        return phase(ToolStep);
      case 'TodoReminder':
        return phase(RemindOfTodos);
      case 'Finish':
        return end('completed');
      case 'Stop':
        throw new Error(`a turn stopped (${next.reason}) without a saved failure`);
    }
  }

  aggregates({ subjectId }: Stored<TurnCursor>): readonly Aggregate[] {
    return [{ feature: 'chat', id: chatOf(subjectId) }];
  }

  async heads(tx: Tx, turn: Stored<TurnCursor>): Promise<readonly string[]> {
    return headsOfEnd(tx, await this.sealer.keyOf(turn.context.organizationId), turn);
  }

  /** The engine holds the organization's key since the claim, so that asking for it here reads nothing. */
  async end(tx: Tx, turn: Stored<TurnCursor>, outcome: Outcome): Promise<void> {
    await endTurn(tx, await this.sealer.keyOf(turn.context.organizationId), turn, outcome);
  }
}
