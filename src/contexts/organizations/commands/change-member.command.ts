import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { AuditEvent } from '@domain/audit/entry.js';
import type { MemberNotFound, MemberRevisionConflict, StoppedByDirectory } from '@domain/organizations/member.js';
import { judgeMembershipChange, type MembershipChange, type MembershipFailure } from '@domain/organizations/membership.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { FindProviderQuery } from '@contexts/identity-providers/public/find-provider.query.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { LockRightsCommand } from '../public/lock-rights.command.js';
import type { Member } from '../public/member.queries.js';
import { countOtherOwners, findMember } from '../queries/members.js';
import { stopLostWork } from './stop-work.command.js';

/** What is undefined stays as it is. */
export type MemberChange = Pick<MembershipChange, 'role' | 'suspended'> & { readonly expected: number; readonly name?: string | undefined };
export type ChangeMemberFailure = MemberNotFound | MemberRevisionConflict | MembershipFailure | StoppedByDirectory;
type Changed = { readonly member: Member; readonly touched: readonly string[] };

/** What the member may not do any more is over with this transaction: its tokens' rights, and the work that goes on for it. */
export class ChangeMemberCommand extends Command<Result<Member, ChangeMemberFailure>> {
  constructor(
    readonly identity: Identity,
    readonly memberId: string,
    readonly change: MemberChange,
  ) {
    super();
  }
}

@CommandHandler(ChangeMemberCommand)
export class ChangeMemberHandler implements ICommandHandler<ChangeMemberCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly wake: WakeChannel,
  ) {}

  async execute({ identity, memberId, change }: ChangeMemberCommand): Promise<Result<Member, ChangeMemberFailure>> {
    const changed = await transact<Result<Changed, ChangeMemberFailure>>(this.db, identity.context, async (tx) => {
      const locked = await lockMembership(tx, this.commands, identity, memberId, change);
      if (!locked.ok) return locked;
      const lifts = change.suspended === false ? await this.judgeRestoring(tx, locked.value) : ok(false);
      if (!lifts.ok) return lifts;
      await storeChange(tx, memberId, change, lifts.value);
      await this.commands.execute(new RecordAuditCommand(tx, identity, ...eventsOf(locked.value, change, lifts.value)));
      // A session is begun anew where it may do something else, and is not there again where a member is let in again.
      const isOther = change.role !== undefined && change.role !== locked.value.role;
      const reason = change.suspended ? 'suspension' : 'role';
      if (isOther || change.suspended) await this.commands.execute(new EndSessionsCommand(tx, identity, { memberId, reason }));
      const touched = await stopLostWork(tx, this.queries, memberId, change.suspended ?? false);
      const member = await findMember(tx, memberId);
      return member ? ok({ member, touched }) : fail({ _tag: 'MemberNotFound' });
    });
    if (!changed.ok) return changed;
    this.wake.publish(changed.value.touched);
    return ok(changed.value.member);
  }

  /** Whether the directory's stop goes too: of a directory that is gone nobody else could take it back. What it says while it is there, it alone takes back. */
  private async judgeRestoring(tx: Tx, { stoppedBy, suspendedBy }: Member): Promise<Result<boolean, StoppedByDirectory>> {
    if (stoppedBy === null) return ok(false);
    if (!(await this.queries.execute(new FindProviderQuery(stoppedBy, tx)))) return ok(true);
    return suspendedBy.includes('administrator') ? ok(false) : fail({ _tag: 'StoppedByDirectory', identityProvider: toPublicId('identityProvider', stoppedBy) });
  }
}

/** One entry for each thing that is not as it was. */
function eventsOf({ id: target, name, role, suspendedBy }: Member, change: MemberChange, lifts: boolean): AuditEvent[] {
  const suspended = suspendedBy.includes('administrator') || lifts;
  const events: AuditEvent[] = [];
  if (change.name !== undefined && change.name !== name) events.push({ action: 'member.renamed', target, detail: {} });
  if (change.role !== undefined && change.role !== role) events.push({ action: 'member.role_changed', target, detail: { role: change.role, before: role } });
  if (change.suspended !== undefined && change.suspended !== suspended) events.push({ action: suspended ? 'member.restored' : 'member.suspended', target, detail: {} });
  return events;
}

async function storeChange(tx: Tx, memberId: string, { name, role, suspended }: MemberChange, lifts: boolean): Promise<void> {
  await tx.query(
    `update member set name = coalesce($2, name), role = coalesce($3, role), revision = revision + 1,
       suspended_at = case when coalesce($4::boolean, suspended_at is not null) then coalesce(suspended_at, clock_timestamp()) end,
       stopped_at = case when not $5 then stopped_at end, stopped_by = case when not $5 then stopped_by end
     where organization_id = tenant_organization() and id = $1`,
    [memberId, name ?? null, role ?? null, suspended ?? null, lifts],
  );
}

/** A member at the revision that the caller read, who may make this change by the rights that they have now: what it waited for may have taken them. */
export async function lockMembership(
  tx: Tx,
  commands: CommandBus,
  identity: Identity,
  memberId: string,
  { expected, ...change }: MembershipChange & { readonly expected: number },
): Promise<Result<Member, ChangeMemberFailure>> {
  const asker = await commands.execute(new LockRightsCommand(tx, identity, 'members.manage'));
  const member = await findMember(tx, memberId);
  if (!member) return fail({ _tag: 'MemberNotFound' });
  if (member.revision !== expected) return fail({ _tag: 'MemberRevisionConflict', revision: member.revision });
  const judged = judgeMembershipChange({ asker, member, change }, await countOtherOwners(tx, memberId));
  return judged.ok ? ok(member) : judged;
}
