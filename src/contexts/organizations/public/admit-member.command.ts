import { Command, Query } from '@nestjs/cqrs';
import type { OrganizationRole, ProjectRole } from '@domain/access/roles.js';
import type { AdmitMemberFailure } from '@domain/organizations/member.js';
import type { Result } from '@domain/result.js';
import type { ReadTx, Tx } from '@engine/tx.js';

/** What somebody is to be. A project that is not there any more is left out. */
export type Admission = {
  readonly role: OrganizationRole;
  readonly passwordSignIn: boolean;
  readonly projects: readonly { readonly projectId: string; readonly role: ProjectRole }[];
};

/** Whether a member may let somebody in who is to be this, by what the member is now. */
export class MayAdmitQuery extends Query<boolean> {
  constructor(
    readonly inviterId: string,
    readonly admission: Admission,
    readonly tx: ReadTx,
  ) {
    super();
  }
}

/**
 * Makes a person a member whom `inviterId` let in, with their roles in projects, in the caller's transaction; answers the new member's id (a UUID).
 * `Forbidden`: whoever let them in may not any more. `address`: where the person comes from.
 */
export class AdmitMemberCommand extends Command<Result<string, AdmitMemberFailure>> {
  constructor(
    readonly inviterId: string,
    readonly admission: Admission & { readonly name: string; readonly email: string },
    readonly address: string,
    readonly tx: Tx,
  ) {
    super();
  }
}
