import { Command, CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { admit } from '@domain/identity-providers/admission.js';
import { ok } from '@domain/result.js';
import { LockMembersCommand } from '@contexts/organizations/public/lock-members.command.js';
import { FindMemberQuery } from '@contexts/organizations/public/member.queries.js';
import { SetVouchedRoleCommand } from '@contexts/organizations/public/set-vouched-role.command.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { LoadIdentityQuery } from '@contexts/sign-in/public/load-identity.query.js';
import type { Tx } from '@engine/tx.js';
import type { TenantContext } from '@domain/tenancy.js';
import { read, transact } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { sessionBinding } from '../policies/bindings.js';
import { openProvider } from '../policies/open-provider.js';
import { OidcProtocol } from '../protocols/oidc.js';
import type { Arrival } from '../protocols/sign-in-protocol.js';
import { findProviderSession, stopAsking, storeAnswer, type ProviderSessionRow } from '../queries/provider-sessions.js';
import { findEnabledProvider, type ProviderRow } from '../queries/providers.js';
import { providerActor } from './log-out.command.js';

type Asked = { readonly context: TenantContext; readonly provider: ProviderRow; readonly session: ProviderSessionRow };

/**
 * Asks a provider whether a session that it vouched for still counts, and what its person is now. One that it has ended ends here; one that does not answer
 * changes nothing, and is asked later. Where the process dies between the provider's answer and its storing, the next question is refused, and the person signs in anew.
 */
export class AskAgainCommand extends Command<null> {
  constructor(
    readonly organizationId: string,
    readonly sessionId: string,
  ) {
    super();
  }
}

@CommandHandler(AskAgainCommand)
export class AskAgainHandler implements ICommandHandler<AskAgainCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
    private readonly sealer: Sealer,
    private readonly oidc: OidcProtocol,
  ) {}

  async execute({ organizationId, sessionId }: AskAgainCommand): Promise<null> {
    const context = { organizationId, projectId: null };
    const [session, provider, identity] = await read(this.db, context, async (tx) => {
      const found = await findProviderSession(tx, sessionId);
      return [found, found && (await findEnabledProvider(tx, found.provider_id)), await this.queries.execute(new LoadIdentityQuery(context, sessionId, tx))] as const;
    });
    if (!session) return null;
    if (!provider || !identity) return this.store(context, (tx) => stopAsking(tx, sessionId));
    const key = await this.sealer.keyOf(organizationId);
    const kept = key.open(sessionBinding(sessionId), session.sealed).toString('utf8');
    const asked = await this.oidc.askAgain(openProvider(provider, key), kept, session.subject);
    if (asked.ok) {
      const sealed = key.seal(sessionBinding(sessionId), asked.value.kept);
      return this.store(context, (tx) => this.follow(tx, { context, provider, session }, asked.value, sealed));
    }
    return asked.failure.reason === 'provider_refused' ? this.store(context, (tx) => this.end(tx, session)) : null;
  }

  private async follow(tx: Tx, { context, provider, session }: Asked, { assertion, askAgainMs }: Arrival, sealed: Buffer): Promise<void> {
    await this.commands.execute(new LockMembersCommand(tx));
    await storeAnswer(tx, session.session_id, sealed, askAgainMs);
    const member = await this.queries.execute(new FindMemberQuery(context, session.member_id, tx));
    const known = member && { memberId: member.id, role: member.role, suspended: member.suspended };
    const admitted = known && admit({ assertion, rules: provider.settings, domainIsOurs: false, known, addressOwner: null });
    if (!admitted?.ok) await this.end(tx, session);
    else if (admitted.value.role !== null) await this.commands.execute(new SetVouchedRoleCommand(tx, session.member_id, admitted.value.role));
  }

  private async end(tx: Tx, { session_id, member_id: memberId }: ProviderSessionRow): Promise<void> {
    await stopAsking(tx, session_id);
    await this.commands.execute(new EndSessionsCommand(tx, providerActor(memberId), { memberId, onlyIds: [session_id], reason: 'provider' }));
  }

  private async store(context: TenantContext, work: (tx: Tx) => Promise<unknown>): Promise<null> {
    await transact(this.db, context, async (tx) => {
      await work(tx);
      return ok(null);
    });
    return null;
  }
}
