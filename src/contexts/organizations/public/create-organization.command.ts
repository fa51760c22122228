import { Command } from '@nestjs/cqrs';
import type { OrganizationExists } from '@domain/organizations/member.js';
import type { Result } from '@domain/result.js';

export type NewOrganization = {
  readonly organization: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string };
  readonly owner: { readonly id: string; readonly name: string; readonly email: string | null };
};

/** Makes an organization, its first project and its owner: all three or nothing. The ids are the caller's, so that it may ask twice. */
export class CreateOrganizationCommand extends Command<Result<null, OrganizationExists>> {
  constructor(readonly wanted: NewOrganization) {
    super();
  }
}
