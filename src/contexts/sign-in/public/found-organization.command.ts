import { Command } from '@nestjs/cqrs';

export type FoundedOrganization = {
  /** Public ids. */
  readonly organizationId: string;
  readonly projectId: string;
  readonly memberId: string;
  /** The owner's first credential: nothing can read it again. */
  readonly token: string;
};

/** Makes an organization with its first project and an owner who can enter at once. The operator sends it: a new installation has nobody who could. */
export class FoundOrganizationCommand extends Command<FoundedOrganization> {
  constructor(
    readonly name: string,
    readonly owner: { readonly name: string; readonly email: string | null },
  ) {
    super();
  }
}
