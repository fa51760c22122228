import { covers, mayAppoint, mayAssign, type Rights } from '../access/rights.js';
import type { OrganizationRole, ProjectRole } from '../access/roles.js';

/** It was accepted or revoked, has expired, was renewed since, or whoever made it may not any more. */
export type InvitationNotFound = { readonly _tag: 'InvitationNotFound' };
/** Somebody with this address is invited already. */
export type InvitationConflict = { readonly _tag: 'InvitationConflict' };
/** It was tried too often from one place of late. */
export type InvitationLimited = { readonly _tag: 'InvitationLimited'; readonly retryAfterMs: number };
/** It lets somebody in who signs in with a password, and none was given. */
export type PasswordMissing = { readonly _tag: 'PasswordMissing'; readonly field: 'password' };

/** Milliseconds. */
export const shortestInvitation = 60 * 60 * 1000;
export const longestInvitation = 30 * 24 * 60 * 60 * 1000;
export const defaultInvitation = 7 * 24 * 60 * 60 * 1000;

/** Projects that one invitation can name. */
export const invitationProjectsLimit = 100;

export type Invited = { readonly role: OrganizationRole; readonly passwordSignIn: boolean };

/**
 * Whether somebody with these rights may let somebody in who is to be this: asked when the invitation is made, and of its maker again when it is accepted.
 * `projects`: what the maker may do in each, and the role to be given there.
 */
export const mayInvite = (rights: Rights, { role, passwordSignIn }: Invited, projects: readonly { readonly rights: Rights; readonly role: ProjectRole }[]): boolean =>
  covers(rights, ['members.create']) &&
  mayAppoint(rights, role) &&
  (!passwordSignIn || mayAppoint(rights, 'owner')) &&
  projects.every((project) => covers(project.rights, ['projects.change']) && mayAssign(project.rights, project.role));
