import { Command } from '@nestjs/cqrs';

export type FoundedOrganization = {
  /** Public ids. */
  readonly organizationId: string;
  readonly projectId: string;
  readonly memberId: string;
  /** The owner's first credential, where one was wanted: nothing can read it again. */
  readonly token: string | null;
};

/** Makes an organization with its first project and an owner who can enter at once, by a token or by what the operator makes next. The operator sends it: a new installation has nobody who could. */
export class FoundOrganizationCommand extends Command<FoundedOrganization> {
  constructor(
    readonly name: string,
    readonly owner: { readonly name: string; readonly email: string | null },
    readonly withToken = true,
  ) {
    super();
  }
}
