import type { ChangePasswordFailure, OrganizationMissing, SetUpFailure, SignInFailure } from '@domain/sign-in/sign-in.js';
import type { ProblemTable } from '@platform/http/problem.js';
import { publicUrlProblems, type PublicUrlMissing } from '@platform/identity/public-url.js';
import type { AllowPasswordFailure } from '../commands/allow-password.command.js';

const SignInBusy = { status: 503, message: 'Too many people sign in at the moment. Try again.', example: { retryAfterMs: 2_000 } };
const SignInLimited = { status: 429, message: 'There were too many attempts. Try again later.', example: { retryAfterMs: 60_000 } };
const passwordRefused = (field: string) => ({
  status: 400,
  message: 'Choose a password of 12 to 128 characters that is not common, and neither your address nor the name of your organization.',
  example: { field, reason: 'short' },
});

export const signInProblems = {
  ...publicUrlProblems,
  SignInRefused: { status: 401, message: 'No account that may sign in has this address and password.' },
  SignInLimited,
  SignInBusy,
  OrganizationMissing: { status: 400, message: 'Say which organization you sign in to.', example: { field: 'organization' } },
} satisfies ProblemTable<SignInFailure | OrganizationMissing | PublicUrlMissing>;

export const setUpProblems = {
  ...publicUrlProblems,
  LinkNotFound: { status: 404, message: 'This link does not count: it was used, has expired, or a newer one took its place.' },
  PasswordRefused: passwordRefused('password'),
  SignInBusy,
} satisfies ProblemTable<SetUpFailure | PublicUrlMissing>;

export const changePasswordProblems = {
  PasswordNotAllowed: { status: 409, message: 'You have no password here: an owner says who may have one.' },
  PasswordWrong: { status: 403, message: 'This is not your current password.', example: { field: 'current' } },
  PasswordRefused: passwordRefused('new'),
  SignInLimited,
  SignInBusy,
} satisfies ProblemTable<ChangePasswordFailure>;

export const allowPasswordProblems = {
  ...publicUrlProblems,
  MemberNotFound: { status: 404, message: 'The organization has no member with this ID.' },
  Forbidden: { status: 403, message: 'Only owners say who may sign in with a password.' },
  OwnWayIn: { status: 409, message: 'This would end the session that you do it with: let another owner do it, or do it with a token.' },
  AddressMissing: { status: 409, message: 'Nobody signs in with a password who has no e-mail address.' },
} satisfies ProblemTable<AllowPasswordFailure | PublicUrlMissing>;
