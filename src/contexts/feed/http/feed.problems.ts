import type { CursorAhead } from '@domain/executions/failures.js';
import type { ProjectNotFound } from '@domain/organizations/project.js';
import type { ProblemTable } from '@platform/http/problem.js';

export type ReadFeedFailure = ProjectNotFound | CursorAhead;
export const readFeedProblems = {
  ProjectNotFound: { status: 404, message: 'You act in no project with this ID.' },
  CursorAhead: { status: 409, message: 'The feed has no event at this position. Read on after the one that is named here.' },
} satisfies ProblemTable<ReadFeedFailure>;
