import { Command } from '@nestjs/cqrs';
import type { ServiceAccountRole } from '@domain/access/roles.js';
import type { MemberConflict } from '@domain/organizations/member.js';
import type { Result } from '@domain/result.js';
import type { Tx } from '@engine/tx.js';

/** Makes a person a member whom the organization's identity provider vouches for; answers the new member's id (a UUID). Under `LockMembersCommand`. `address`: where they come from; `null`: their directory told of them. */
export class AdmitVouchedCommand extends Command<Result<string, MemberConflict>> {
  constructor(
    readonly tx: Tx,
    readonly person: { readonly name: string; readonly email: string; readonly role: ServiceAccountRole },
    readonly address: string | null,
  ) {
    super();
  }
}
