import { Command } from '@nestjs/cqrs';
import type { MemberNotFound } from '@domain/organizations/member.js';
import type { Result } from '@domain/result.js';
import type { AddressMissing } from '@domain/sign-in/sign-in.js';

/**
 * Makes the one-time link by which an owner sets a password: the operator's way to let the first one in, and to let one in again when everybody is locked
 * out. `owner` is the member's id (a UUID) or their address. Answers the text of the link, which nothing can read again.
 */
export class IssueOwnerLinkCommand extends Command<Result<string, MemberNotFound | AddressMissing>> {
  constructor(
    readonly organizationId: string,
    readonly owner: { readonly id: string } | { readonly email: string },
  ) {
    super();
  }
}
