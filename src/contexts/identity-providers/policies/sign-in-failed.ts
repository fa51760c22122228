import type { AdmissionRefused } from '@domain/identity-providers/admission.js';
import type { ProviderFailed } from '../protocols/sign-in-protocol.js';

/** Why somebody came back and is not signed in. */
export type SignInFailed = {
  readonly _tag: 'SignInFailed';
  readonly reason: ProviderFailed['reason'] | AdmissionRefused['reason'] | 'provider_missing' | 'attempt_unknown' | 'attempt_used' | 'attempt_over' | 'cookies_blocked' | 'loop';
  /** For the operator alone. */
  readonly cause?: unknown;
};
type Shown = { readonly status: number; readonly title: string; readonly text: string; /** Whether trying again may help. */ readonly again: boolean };

/** What people read. Nothing of it was written by a provider. */
export const failedPages = {
  provider_missing: { status: 404, title: 'There is no such way to sign in', text: 'It was switched off or removed. Ask whoever runs OpenBot in your organization.', again: true },
  provider_unreachable: {
    status: 502,
    title: 'Your identity provider does not answer',
    text: 'Try again in a minute. If it stays so, your IT department has to look at it.',
    again: true,
  },
  provider_denied: { status: 403, title: 'Your identity provider did not let you in', text: 'You, or a rule of your organization, said no there.', again: true },
  provider_refused: {
    status: 502,
    title: 'Your identity provider refused us',
    text: 'How OpenBot is registered there does not fit. An owner of your organization has to look at it.',
    again: true,
  },
  answer_invalid: {
    status: 400,
    title: 'The answer of your identity provider does not count',
    text: 'It could not be shown to be genuine, or was for somebody else.',
    again: true,
  },
  attempt_unknown: { status: 400, title: 'Nobody began this sign-in here', text: 'Begin again from the sign-in page.', again: true },
  attempt_used: { status: 400, title: 'This sign-in was used already', text: 'It counts once. If you are not signed in, begin again.', again: true },
  attempt_over: { status: 400, title: 'That took too long', text: 'A sign-in counts for ten minutes. Begin again.', again: true },
  cookies_blocked: {
    status: 400,
    title: 'Your browser kept no cookie of ours',
    text: 'Allow cookies for this site, and finish signing in with the browser in which you began.',
    again: true,
  },
  loop: {
    status: 409,
    title: 'You go round in circles',
    text: 'You were signed in twice and sent back to sign in: what you wanted to open does not see it. Allow cookies for this site, or go on from here.',
    again: true,
  },
  no_address: {
    status: 403,
    title: 'Your identity provider did not say your address',
    text: 'OpenBot needs the claim email. An administrator there has to release it.',
    again: false,
  },
  address_unverified: { status: 403, title: 'Your address is not verified', text: 'Your identity provider says that nobody has shown it to be yours.', again: true },
  domain_unverified: {
    status: 403,
    title: 'Your address is of another organization',
    text: 'This organization has not shown that the domain of your address is its own.',
    again: false,
  },
  address_taken: {
    status: 403,
    title: 'Somebody else signs in with your address',
    text: 'A member with this address signs in as another person of your identity provider. An owner has to remove that one first.',
    again: false,
  },
  not_invited: { status: 403, title: 'You are not a member', text: 'Ask an administrator of your organization for an invitation.', again: false },
  no_group: { status: 403, title: 'None of your groups comes in here', text: 'Ask an administrator of your organization which group you need.', again: false },
  suspended: { status: 403, title: 'You are suspended', text: 'Ask an administrator of your organization.', again: false },
} as const satisfies Readonly<Record<SignInFailed['reason'], Shown>>;
