import type { QueryBus } from '@nestjs/cqrs';
import type { DataSource } from 'typeorm';
import { judgePassword, type PasswordRefused } from '@domain/sign-in/password.js';
import type { Result } from '@domain/result.js';
import type { SignInBusy } from '@domain/sign-in/sign-in.js';
import { FindOrganizationQuery } from '@contexts/organizations/public/find-organization.query.js';
import { read } from '@platform/database/transact.js';
import type { PasswordHasher } from './password-hasher.js';
import type { WantedPassword } from './public/prepare-password.command.js';

/** The hash of a password that somebody may have. Outside of every transaction: hashing takes its time. */
export async function preparePassword(
  db: DataSource,
  queries: QueryBus,
  hasher: PasswordHasher,
  { context, given, field, email }: WantedPassword,
): Promise<Result<string, PasswordRefused | SignInBusy>> {
  const organization = await read(db, context, (tx) => queries.execute(new FindOrganizationQuery(tx)));
  const judged = judgePassword(given, field, [email, email?.split('@')[0] ?? null, organization?.name ?? null]);
  return judged.ok ? hasher.hash(judged.value) : judged;
}
