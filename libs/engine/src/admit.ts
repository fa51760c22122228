import { v7 as uuidv7 } from 'uuid';
import { fail, ok, type Result } from '@domain/result.js';
import type { ExecutionKeyConflict } from '@domain/executions/failures.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { Parent } from './child.js';
import { currentTrace } from './trace.js';
import type { Tx } from './tx.js';

/** A command of one scope (member, key or service): its key and normalized input as MACs. `key` itself is never stored. */
export type KeyedCommand = { readonly scopeId: string; readonly key: string; readonly keyMac: Buffer; readonly inputMac: Buffer };

/** What the caller gets, now and on every retry: ids and numbers only, kept for longer than what they name. */
export type StoredReceipt = Readonly<Record<string, string | number | null>>;

/**
 * Takes the command row before anything else is looked at. A retry gets the stored receipt even when what it names is gone; the
 * same key with another input fails. `null`: the caller is the first and must settle it in this transaction.
 */
export async function takeCommand<R extends StoredReceipt>(tx: Tx, command: KeyedCommand): Promise<Result<R | null, ExecutionKeyConflict>> {
  const taken: unknown[] = await tx.query(
    `insert into execution_command (scope_id, key_hmac, input_hmac, organization_id)
     values ($1, $2, $3, current_setting('app.organization')::uuid) on conflict do nothing returning 1`,
    [command.scopeId, command.keyMac, command.inputMac],
  );
  if (taken.length > 0) return ok(null);
  // A statement of its own: its snapshot is newer than the commit that the conflicting insert waited for.
  const [row] = (await tx.query(`select input_hmac, receipt from execution_command where scope_id = $1 and key_hmac = $2`, [command.scopeId, command.keyMac])) as {
    input_hmac: Buffer;
    receipt: R | null;
  }[];
  if (!row || !command.inputMac.equals(row.input_hmac)) return fail({ _tag: 'ExecutionKeyConflict', commandKey: command.key });
  return ok(row.receipt);
}

/** Stores the whole receipt in the transaction of the command's effect. */
export async function settleCommand<R extends StoredReceipt>(tx: Tx, command: KeyedCommand, receipt: R): Promise<R> {
  await tx.query(`update execution_command set receipt = $3 where scope_id = $1 and key_hmac = $2`, [command.scopeId, command.keyMac, receipt]);
  return receipt;
}

export type NewExecution = {
  /** Given by callers that need the id before the row exists; else a new UUIDv7. */
  readonly id?: string;
  readonly context: TenantContext & { readonly projectId: string };
  readonly workflow: string;
  readonly version: number;
  readonly cursor: object;
  readonly subjectId: string | null;
  readonly identityId: string | null;
  /** The member whose work it is, and who alone may see it; `null` for a service's. */
  readonly memberId: string | null;
  /** The execution that it is a child of; the transaction holds that head. The child's tenant and member are then its parent's. */
  readonly parent?: Parent | null;
  /** `false`: the row waits (`runnable_at` null) until `makeReady` says that it may start. */
  readonly ready: boolean;
  /** When its time is over: an instant that somebody named, or so long from now on the database's clock. */
  readonly deadline?: Date | { readonly inMs: number } | null;
  /** How long it may run, in milliseconds: only while it and its parents can. */
  readonly budgetMs?: number | null;
};

const limitsOf = ({ deadline, budgetMs }: NewExecution): object => ({
  ...(deadline instanceof Date ? { deadline: deadline.toISOString() } : deadline ? { within: deadline.inMs } : {}),
  ...(budgetMs === undefined || budgetMs === null ? {} : { budget: budgetMs }),
});

/** New work as `admit_executions` reads it. */
export const toWire = (id: string, work: NewExecution): object => ({
  id,
  organization: work.context.organizationId,
  project: work.context.projectId,
  workflow: work.workflow,
  version: work.version,
  cursor: work.cursor,
  subject: work.subjectId ?? undefined,
  identity: work.identityId ?? undefined,
  member: work.memberId ?? undefined,
  ready: work.ready,
  ...(work.parent ? { parent: work.parent.id, attached: work.parent.attached } : {}),
  ...limitsOf(work),
  trace: currentTrace(),
});

/**
 * Inserts the head of new work, with its first event (sequence 1: `State queued`). The wake goes out after the commit. A child whose id its parent
 * has admitted before is the same child: it is neither inserted nor counted again.
 */
export async function admitExecution(tx: Tx, work: NewExecution): Promise<string> {
  const id = work.id ?? uuidv7();
  const [row] = (await tx.query(`select admit_executions($1::jsonb) as admitted`, [JSON.stringify([toWire(id, work)])])) as { admitted: number }[];
  if (row?.admitted !== 1 && !work.parent) throw new Error('another execution has this id');
  return id;
}
