import { v7 as uuidv7 } from 'uuid';
import type { Author } from '@domain/chats/inbox.js';
import { admitExecution } from '@engine/admit.js';
import type { Tx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';
import { settingsOf, type ChatRow } from '../queries/chats.js';
import { newTurnCursor, turnWorkflow } from '../sagas/turn-cursor.js';

export type AdmittedTurn = { readonly turnId: string; readonly executionId: string };
export type TurnAdmission = {
  readonly context: Identity['context'];
  readonly author: Author;
  readonly identityId: string;
  /** Whether it moves at once; else it waits until the turn before it ends. */
  readonly advances: boolean;
  /** When what the work was begun with ends by itself, and the work with it. */
  readonly endsAt: Date | null;
  /** Given where the id was reserved before the row exists. */
  readonly executionId?: string;
};

/** A turn and the execution that will run it: both exist while they wait, so that a receipt can name them. The chat's row is locked. */
export async function admitTurn(tx: Tx, chat: ChatRow, admission: TurnAdmission): Promise<AdmittedTurn> {
  const { context, author, identityId, advances, endsAt, executionId = uuidv7() } = admission;
  const turnId = uuidv7();
  if (advances) await tx.query(`update chat set turn_count = turn_count + 1, running_turn_id = $2 where id = $1`, [chat.id, turnId]);
  await tx.query(
    `insert into chat_turn (organization_id, project_id, chat_id, id, execution_id, author_member_id, author_token_id, settings, number)
     select organization_id, project_id, id, $2, $3, $4, $5, $6, case when $7 then turn_count end from chat where id = $1`,
    [chat.id, turnId, executionId, author.memberId, author.tokenId, settingsOf(chat), advances],
  );
  await admitExecution(tx, {
    id: executionId,
    context,
    ...turnWorkflow,
    cursor: newTurnCursor(turnId),
    subjectId: chat.id,
    identityId,
    memberId: author.memberId,
    ready: advances,
    deadline: endsAt,
  });
  return { turnId, executionId };
}
