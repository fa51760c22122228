import type { CreateMemberFailure } from '@domain/organizations/member.js';
import type { ProblemTable } from '@platform/http/problem.js';

export const createMemberProblems = {
  Forbidden: { status: 403, message: 'Only an owner of the organization may create members.' },
  MemberConflict: { status: 409, message: 'A member of the organization has this e-mail address.' },
} satisfies ProblemTable<CreateMemberFailure>;
