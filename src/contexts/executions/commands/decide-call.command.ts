import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { CallDecision, CallReference } from '@domain/executions/call.js';
import type { CallConflict, CallNotFound, ExecutionKeyConflict, ExecutionNotFound } from '@domain/executions/failures.js';
import { fail, ok, type Result } from '@domain/result.js';
import { settleCommand, takeCommand, type KeyedCommand } from '@engine/admit.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { findCallState } from '../queries/calls.js';
import { lockVisibleExecution } from '../queries/visible-execution.js';
import type { ExecutionReceipt } from './cancel-execution.command.js';

export type DecideCallFailure = ExecutionNotFound | CallNotFound | CallConflict | ExecutionKeyConflict;
/** `result` belongs to the decision `result`, and is any JSON value: `null` too. */
export type Decision = { readonly decision: Exclude<CallDecision, 'result'> } | { readonly decision: 'result'; readonly result: unknown };

/** Settles one unknown call of the member's own work. The first decision stands. */
export class DecideCallCommand extends Command<Result<ExecutionReceipt, DecideCallFailure>> {
  constructor(
    readonly identity: Identity,
    readonly command: KeyedCommand,
    readonly executionId: string,
    readonly call: CallReference,
    readonly decision: Decision,
  ) {
    super();
  }
}

@CommandHandler(DecideCallCommand)
export class DecideCallHandler implements ICommandHandler<DecideCallCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ identity, command, executionId, call, decision }: DecideCallCommand): Promise<Result<ExecutionReceipt, DecideCallFailure>> {
    const result = await this.seal(identity, executionId, call, decision);
    let changed = false;
    const receipt = await transact<Result<ExecutionReceipt, DecideCallFailure>>(this.db, identity.context, async (tx) => {
      changed = false;
      const taken = await takeCommand<ExecutionReceipt>(tx, command);
      if (!taken.ok) return taken;
      if (taken.value) return ok(taken.value);

      const execution = await lockVisibleExecution(tx, identity, executionId);
      if (!execution) return fail({ _tag: 'ExecutionNotFound' });
      if (!(await decideCall(tx, execution.id, call, decision.decision, result))) {
        const state = await findCallState(tx, execution.id, call);
        return fail(state ? { _tag: 'CallConflict', state } : { _tag: 'CallNotFound' });
      }
      const detail = { step: call.step, attempt: call.attempt, decision: decision.decision };
      await this.commands.execute(new RecordAuditCommand(tx, identity, { action: 'execution.decided', target: execution.id, detail }));
      changed = true;
      return ok(await settleCommand(tx, command, { executionId: execution.id, sequence: execution.sequence }));
    });
    if (receipt.ok && changed) this.wake.publish([executionId]);
    return receipt;
  }

  /** As a runner seals the results that it gets itself. Before the transaction: it may load a key. */
  private async seal(identity: Identity, executionId: string, { step, name, attempt }: CallReference, decision: Decision): Promise<Buffer | null> {
    if (decision.decision !== 'result') return null;
    const key = await this.sealer.keyOf(identity.context.organizationId);
    return key.seal({ table: 'execution_call', record: `${executionId}:${step}:${name}:${attempt}:result` }, JSON.stringify(decision.result));
  }
}

async function decideCall(tx: Tx, executionId: string, { step, name, attempt }: CallReference, decision: CallDecision, result: Buffer | null): Promise<boolean> {
  const [row] = await tx.query<{ decided: boolean }[]>(`select decide_call($1, $2, $3, $4, $5, $6) as decided`, [executionId, step, name, attempt, decision, result]);
  return row?.decided ?? false;
}
