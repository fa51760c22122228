import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { fail, ok, type Result } from '@domain/result.js';
import { read, transact } from '@platform/database/transact.js';
import { newToken } from '@platform/identity/credential-text.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { attemptBinding } from '../policies/bindings.js';
import type { SignInFailed } from '../policies/sign-in-failed.js';
import { openProvider } from '../policies/open-provider.js';
import { OidcProtocol } from '../protocols/oidc.js';
import { countArrivals, insertAttempt } from '../queries/attempts.js';
import { findEnabledProvider } from '../queries/providers.js';

const lifeMs = 600_000;
/** Whoever arrived twice within this time and is sent once more goes round in circles. */
const [mostArrivals, arrivalsWithinMs] = [2, 120_000];

export type Beginning = {
  readonly organizationId: string;
  readonly providerId: string;
  readonly callbackUrl: string;
  readonly browser: Buffer;
  readonly returnTo: string;
  readonly address: string | null;
  /** The person has asked for it once more. */
  readonly again: boolean;
};

/** Begins a way to a provider; answers the address to send the browser to. */
export class BeginSignInCommand extends Command<Result<string, SignInFailed>> {
  constructor(readonly beginning: Beginning) {
    super();
  }
}

@CommandHandler(BeginSignInCommand)
export class BeginSignInHandler implements ICommandHandler<BeginSignInCommand> {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
    private readonly oidc: OidcProtocol,
  ) {}

  async execute({ beginning }: BeginSignInCommand): Promise<Result<string, SignInFailed>> {
    const { organizationId, providerId, callbackUrl, browser, returnTo, address, again } = beginning;
    const context = { organizationId, projectId: null };
    const [row, arrivals] = await read(this.db, context, async (tx) => [await findEnabledProvider(tx, providerId), await countArrivals(tx, browser, arrivalsWithinMs)] as const);
    if (!row) return fail({ _tag: 'SignInFailed', reason: 'provider_missing' });
    if (arrivals >= mostArrivals && !again) return fail({ _tag: 'SignInFailed', reason: 'loop' });
    const key = await this.sealer.keyOf(organizationId);
    const { token: state, prefix, hash } = newToken(organizationId, 'oba_');
    const begun = await this.oidc.begin(openProvider(row, key), { state, callbackUrl }, address);
    if (!begun.ok) return fail({ ...begun.failure, _tag: 'SignInFailed' });
    const id = uuidv7();
    const sealed = key.seal(attemptBinding(id), begun.value.kept);
    return transact(this.db, context, async (tx) => {
      await insertAttempt(tx, { id, providerId, prefix, hash, browser, sealed, returnTo, lifeMs });
      return ok(begun.value.url);
    });
  }
}
