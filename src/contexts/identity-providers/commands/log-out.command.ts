import { Command, CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import type { IdentityProviderNotFound } from '@domain/identity-providers/provider.js';
import { fail, ok, type Result } from '@domain/result.js';
import { EndSessionsCommand } from '@contexts/sign-in/public/end-sessions.command.js';
import { read, transact } from '@platform/database/transact.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { openProvider } from '../policies/open-provider.js';
import { OidcProtocol } from '../protocols/oidc.js';
import { findNamedSessions, type ProviderSessionRow } from '../queries/provider-sessions.js';
import { findEnabledProvider } from '../queries/providers.js';

/** The token is none that this provider would have signed for us. */
export type LogoutRefused = { readonly _tag: 'LogoutRefused' };
/** What the provider signs with cannot be read at the moment. */
export type LogoutUnproven = { readonly _tag: 'LogoutUnproven'; readonly retryAfterMs: number };

export type LogOutFailure = IdentityProviderNotFound | LogoutRefused | LogoutUnproven;

/** What the audit log calls who did it. */
export const providerActor = (memberId: string) => ({ kind: 'service', service: 'identity-provider', onBehalfOf: memberId }) as const;

/** Ends the sessions that a provider says are over (OpenID Connect Back-Channel Logout 1.0). That it names none of ours is well: they may have ended before. */
export class LogOutCommand extends Command<Result<null, LogOutFailure>> {
  constructor(
    readonly organizationId: string,
    readonly providerId: string,
    readonly token: string,
  ) {
    super();
  }
}

@CommandHandler(LogOutCommand)
export class LogOutHandler implements ICommandHandler<LogOutCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly commands: CommandBus,
    private readonly sealer: Sealer,
    private readonly oidc: OidcProtocol,
  ) {}

  async execute({ organizationId, providerId, token }: LogOutCommand): Promise<Result<null, LogOutFailure>> {
    const context = { organizationId, projectId: null };
    const row = await read(this.db, context, (tx) => findEnabledProvider(tx, providerId));
    if (!row) return fail({ _tag: 'IdentityProviderNotFound' });
    const named = await this.oidc.readLogout(openProvider(row, await this.sealer.keyOf(organizationId)), token);
    if (!named.ok) return fail(named.failure.reason === 'provider_unreachable' ? { _tag: 'LogoutUnproven', retryAfterMs: 5_000 } : { _tag: 'LogoutRefused' });
    return transact(this.db, context, async (tx) => {
      const over = await findNamedSessions(tx, providerId, named.value);
      for (const [memberId, sessions] of byMember(over)) {
        const onlyIds = sessions.map(({ session_id }) => session_id);
        await this.commands.execute(new EndSessionsCommand(tx, providerActor(memberId), { memberId, onlyIds, reason: 'provider' }));
      }
      return ok(null);
    });
  }
}

/** In the order of members, so that two logouts at once take them in one order. */
function byMember(rows: readonly ProviderSessionRow[]): (readonly [string, readonly ProviderSessionRow[]])[] {
  const members = [...new Set(rows.map(({ member_id }) => member_id))].sort();
  return members.map((member) => [member, rows.filter(({ member_id }) => member_id === member)] as const);
}
