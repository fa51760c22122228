import { Command } from '@nestjs/cqrs';
import type { LastOwner, MemberNotFound } from '@domain/organizations/member.js';
import type { Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';

/**
 * What the directory of an identity provider (a UUID) says of a member: that they are gone, or there. Beside a suspension by people, which it neither makes nor
 * lifts. Who is gone has no session, credential or work from this transaction on; a directory lifts its own stop alone. Nothing happens where it is so already.
 * Under `LockMembersCommand`, and late: it locks heads. Answers what to publish after the commit.
 */
export class SetDirectoryStopCommand extends Command<Result<readonly string[], LastOwner | MemberNotFound>> {
  constructor(
    readonly tx: Tx,
    readonly memberId: string,
    readonly providerId: string,
    readonly stopped: boolean,
  ) {
    super();
  }
}
