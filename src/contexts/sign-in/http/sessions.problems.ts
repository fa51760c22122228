import type { NotASession, SessionNotFound } from '@domain/sign-in/session.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { EndMemberSessionsFailure } from '../commands/end-member-sessions.command.js';

export const sessionProblems = { SessionNotFound: { status: 404, message: 'You have no session with this ID.' } } satisfies ProblemTable<SessionNotFound>;
export const signOutProblems = { NotASession: { status: 409, message: 'This request came with a token: revoke it where it was made.' } } satisfies ProblemTable<NotASession>;
export const endMemberSessionsProblems = {
  MemberNotFound: { status: 404, message: 'The organization has no member with this ID.' },
  Forbidden: { status: 403, message: 'You may not sign out a member who may do what you may not.' },
} satisfies ProblemTable<EndMemberSessionsFailure>;
