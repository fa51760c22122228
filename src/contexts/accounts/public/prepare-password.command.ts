import { Command } from '@nestjs/cqrs';
import type { PasswordRefused } from '@domain/sign-in/password.js';
import type { Result } from '@domain/result.js';
import type { SignInBusy } from '@domain/sign-in/sign-in.js';
import type { TenantContext } from '@domain/tenancy.js';

/** `field`: where the password was given. `email`: of whoever is to have it. */
export type WantedPassword = { readonly context: TenantContext; readonly given: string; readonly field: string; readonly email: string | null };

/** The hash of a password that somebody may have, for `GivePasswordCommand`. Outside of every transaction: hashing takes its time. */
export class PreparePasswordCommand extends Command<Result<string, PasswordRefused | SignInBusy>> {
  constructor(readonly wanted: WantedPassword) {
    super();
  }
}
