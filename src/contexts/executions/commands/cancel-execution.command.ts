import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { ExecutionKeyConflict, ExecutionNotFound } from '@domain/executions/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand, type KeyedCommand } from '@engine/admit.js';
import { requestCancel } from '@engine/executions.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { findVisibleExecution } from '../queries/visible-execution.js';

/** `sequence` is the last event when the command took effect: reading on after it shows what came of it. */
export type ExecutionReceipt = { readonly executionId: string; readonly sequence: number };
export type CancelExecutionFailure = ExecutionNotFound | ExecutionKeyConflict;

/** Asks the member's own work to stop. Work that has ended stays as it is: the receipt then names its last event. */
export class CancelExecutionCommand extends Command<Result<ExecutionReceipt, CancelExecutionFailure>> {
  constructor(
    readonly identity: Identity,
    readonly command: KeyedCommand,
    readonly executionId: string,
  ) {
    super();
  }
}

@CommandHandler(CancelExecutionCommand)
export class CancelExecutionHandler implements ICommandHandler<CancelExecutionCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ identity, command, executionId }: CancelExecutionCommand): Promise<Result<ExecutionReceipt, CancelExecutionFailure>> {
    let touched: readonly string[] = [];
    const receipt = await transact<Result<ExecutionReceipt, CancelExecutionFailure>>(this.db, identity.context, async (tx) => {
      touched = [];
      const taken = await takeCommand<ExecutionReceipt>(tx, command);
      if (!taken.ok) return taken;
      if (taken.value) return ok(taken.value);

      // Found without its lock: the cancel locks it together with the work below it. Whose it is never changes.
      const execution = await findVisibleExecution(tx, identity, executionId);
      const cancelled = execution && (await requestCancel(tx, execution.id));
      if (!cancelled) return fail({ _tag: 'ExecutionNotFound' });
      touched = cancelled.touched;
      return ok(await settleCommand(tx, command, { executionId, sequence: cancelled.sequence }));
    });
    if (receipt.ok && touched.length > 0) this.wake.publish(touched);
    return receipt;
  }
}
