import type { InvitationLimited, InvitationNotFound } from '@domain/organizations/invitation.js';
import type { ProblemTable } from '@platform/http/problem.js';
import { publicUrlProblems, type PublicUrlMissing } from '@platform/identity/public-url.js';
import type { AcceptInvitationFailure } from '../commands/accept-invitation.command.js';
import type { InviteFailure } from '../commands/invite.command.js';
import type { RenewInvitationFailure } from '../commands/renew-invitation.command.js';

const Forbidden = { status: 403, message: 'You may not invite somebody to be or do what you may not. Owners alone give somebody a password.' };

export const inviteProblems = {
  ...publicUrlProblems,
  Forbidden,
  ProjectNotFound: { status: 404, message: 'One of the projects is none of your organization.' },
  MemberConflict: { status: 409, message: 'A member of the organization has this e-mail address.' },
  InvitationConflict: { status: 409, message: 'Somebody with this e-mail address is invited already: renew or revoke that invitation.' },
} satisfies ProblemTable<InviteFailure | PublicUrlMissing>;

export const invitationProblems = {
  InvitationNotFound: { status: 404, message: 'No open invitation of your organization has this ID.' },
} satisfies ProblemTable<InvitationNotFound>;

export const renewInvitationProblems = { ...publicUrlProblems, ...invitationProblems, Forbidden } satisfies ProblemTable<RenewInvitationFailure | PublicUrlMissing>;

export const lookProblems = {
  ...publicUrlProblems,
  InvitationNotFound: { status: 404, message: 'This invitation does not count: it was used, revoked or renewed, has expired, or whoever made it may not invite you any more.' },
  InvitationLimited: { status: 429, message: 'There were too many attempts. Try again later.', example: { retryAfterMs: 60_000 } },
} satisfies ProblemTable<InvitationNotFound | InvitationLimited | PublicUrlMissing>;

export const acceptProblems = {
  ...lookProblems,
  MemberConflict: { status: 409, message: 'You are a member of the organization already: sign in.' },
  PasswordMissing: { status: 400, message: 'Choose a password: you will sign in with it.', example: { field: 'password' } },
  PasswordNotAllowed: { status: 409, message: 'This invitation comes without a password: leave it out.' },
  PasswordRefused: {
    status: 400,
    message: 'Choose a password of 12 to 128 characters that is not common, and neither your address nor the name of your organization.',
    example: { field: 'password', reason: 'short' },
  },
  SignInBusy: { status: 503, message: 'Too many people sign in at the moment. Try again.', example: { retryAfterMs: 2_000 } },
} satisfies ProblemTable<AcceptInvitationFailure | InvitationLimited | PublicUrlMissing>;
