import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ChatNotFound } from '@domain/chats/chat.js';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { admitExecution, settleCommand, takeCommand } from '@engine/admit.js';
import { requestCancel } from '@engine/executions.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import { keyed } from '@platform/identity/command-key.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { lockOwnChat, type ChatRow } from '../queries/chats.js';
import { interruptWorkflow, type InterruptCursor } from '../sagas/interrupt.saga.js';

export type InterruptFailure = ChatNotFound | ExecutionKeyConflict;
type Receipt = { readonly executionId: string; readonly sequence: number; readonly chat: string; readonly turn: string | null };
export type InterruptReceipt = Receipt & { readonly commandKey: string };
type Stopped = { readonly receipt: Receipt; readonly touched: readonly string[] };

/** Asks the chat's advancing turn to stop. The execution of its own that the receipt names is over when that turn has let go of everything. */
export class InterruptChatCommand extends Command<Result<InterruptReceipt, InterruptFailure>> {
  constructor(
    readonly identity: Identity,
    readonly commandKey: string,
    readonly chatId: string,
    /** Whether the work that the chat gave away stops too. */
    readonly delegations: boolean,
  ) {
    super();
  }
}

@CommandHandler(InterruptChatCommand)
export class InterruptChatHandler implements ICommandHandler<InterruptChatCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ identity, commandKey, chatId, delegations }: InterruptChatCommand): Promise<Result<InterruptReceipt, InterruptFailure>> {
    const input = { command: 'interruptChat', project: identity.context.projectId, chat: chatId, delegations };
    const command = await keyed(this.sealer, identity, commandKey, input);
    const stopped = await transact<Result<Stopped, InterruptFailure>>(this.db, identity.context, async (tx) => {
      const taken = await takeCommand<Receipt>(tx, command);
      if (!taken.ok) return taken;
      if (taken.value) return ok({ receipt: taken.value, touched: [] });
      const chat = await lockOwnChat(tx, identity, chatId);
      if (!chat) return fail({ _tag: 'ChatNotFound' });
      const { receipt, touched } = await stopTurn(tx, identity, chat);
      return ok({ receipt: await settleCommand(tx, command, receipt), touched });
    });
    if (!stopped.ok) return stopped;
    this.wake.publish(stopped.value.touched);
    const { executionId, sequence, chat, turn } = stopped.value.receipt;
    return ok({ executionId, commandKey, sequence, chat, turn });
  }
}

/** The turn is named under the chat's lock, so that this interrupt never reaches a later one. */
async function stopTurn(tx: Tx, { context, memberId }: Identity, chat: ChatRow): Promise<Stopped> {
  const executionId = uuidv7();
  const turnId = chat.running_turn_id;
  const cursor: InterruptCursor = { turnId };
  const touched = [executionId];
  if (turnId !== null) {
    const [turn] = await tx.query<{ execution_id: string }[]>(`select execution_id from chat_turn where id = $1`, [turnId]);
    if (!turn) throw new Error('the advancing turn of a chat is not there');
    const cancelled = await requestCancel(tx, turn.execution_id);
    await tx.query(`update chat_turn set interrupt_ids = interrupt_ids || $2::uuid where id = $1`, [turnId, executionId]);
    touched.push(...(cancelled?.touched ?? []));
  }
  await admitExecution(tx, { id: executionId, context, ...interruptWorkflow, cursor, subjectId: chat.id, identityId: null, memberId, ready: turnId === null });
  const receipt = { executionId: toPublicId('execution', executionId), sequence: 1, chat: toPublicId('chat', chat.id), turn: turnId && toPublicId('turn', turnId) };
  return { receipt, touched };
}
