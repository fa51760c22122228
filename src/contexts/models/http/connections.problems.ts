import type { ModelConnectionNotFound } from '@domain/models/connection.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { ChangeConnectionFailure } from '../commands/change-connection.command.js';
import type { CreateConnectionFailure } from '../commands/create-connection.command.js';
import type { DeleteConnectionFailure } from '../commands/delete-connection.command.js';

const notFound = { status: 404, message: 'There is no model connection with this ID.' };
const invalid = { status: 400, message: 'A field of the model connection does not fit: see field and reason.' };
const nameTaken = { status: 409, message: 'Another model connection has this name.' };

export const createConnectionProblems = {
  ModelConnectionInvalid: invalid,
  ModelConnectionNameTaken: nameTaken,
} satisfies ProblemTable<CreateConnectionFailure>;

export const readConnectionProblems = { ModelConnectionNotFound: notFound } satisfies ProblemTable<ModelConnectionNotFound>;

export const changeConnectionProblems = {
  ...createConnectionProblems,
  ...readConnectionProblems,
  ModelConnectionConflict: { status: 409, message: 'The model connection was changed since you read it.' },
} satisfies ProblemTable<ChangeConnectionFailure>;

export const deleteConnectionProblems = readConnectionProblems satisfies ProblemTable<DeleteConnectionFailure>;
