import type { CursorAhead } from '@domain/executions/failures.js';
import type { ProjectNotFound } from '@domain/organizations/project.js';
import type { ProblemTable } from '@platform/http/problem.js';

export const readProjectAuditProblems = {
  ProjectNotFound: { status: 404, message: 'You act in no project with this ID.' },
} satisfies ProblemTable<ProjectNotFound>;

export const exportAuditProblems = {
  CursorAhead: { status: 409, message: 'The chain is not that long. Read on after the entry that is named here.' },
} satisfies ProblemTable<CursorAhead>;
