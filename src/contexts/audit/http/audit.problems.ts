import type { CursorAhead } from '@domain/executions/failures.js';
import type { ProjectNotFound } from '@domain/organizations/project.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { AuditBusy } from '../long-reads.js';

const AuditBusy = { status: 503, message: 'Too many audit logs are verified or exported at the moment. Try again.', example: { retryAfterMs: 2_000 } };

export const verifyAuditProblems = { AuditBusy } satisfies ProblemTable<AuditBusy>;

export const readProjectAuditProblems = {
  ProjectNotFound: { status: 404, message: 'You act in no project with this ID.' },
} satisfies ProblemTable<ProjectNotFound>;

export const exportAuditProblems = {
  AuditBusy,
  CursorAhead: { status: 409, message: 'The chain is not that long. Read on after the entry that is named here.' },
} satisfies ProblemTable<CursorAhead | AuditBusy>;
