import type { Problem } from './problem.js';

/** What any route may answer before its own code decides. One table for the answers and for the document that describes them. */
export const transportProblems = {
  InvalidInput: { status: 400, message: 'The request is not what this route takes.' },
  Unauthenticated: { status: 401, message: 'Send a valid token ("Authorization: Bearer <token>"), or sign in.' },
  RouteNotFound: { status: 404, message: 'There is no such route.' },
  ProjectNotFound: { status: 404, message: 'You act in no project with this ID.' },
  MethodNotAllowed: { status: 405, message: 'This path does not take this method.' },
  RequestTimeout: { status: 408, message: 'The request did not arrive in time.' },
  BodyTooLarge: { status: 413, message: 'The body is larger than 1 MiB.' },
  PathTooLong: { status: 414, message: 'The path is too long.' },
  UnsupportedMediaType: { status: 415, message: 'The body must be JSON: "Content-Type: application/json".' },
  HeadersTooLarge: { status: 431, message: 'The headers are too large.' },
} as const satisfies Readonly<Record<string, Problem>>;

export type TransportTag = keyof typeof transportProblems;

export const bodyOf = (tag: TransportTag): { _tag: TransportTag; message: string } => ({ _tag: tag, message: transportProblems[tag].message });

export const permissionMissing = (permission: string) => ({ _tag: 'Forbidden', message: `This needs the permission ${permission}.`, permission });

/** The problem that says what a bare status says; a client's fault without a name of its own is `InvalidInput`. */
export function transportProblem(status: number): { status: number; body: object } {
  const tag = (Object.keys(transportProblems) as TransportTag[]).find((name) => transportProblems[name].status === status);
  if (tag && tag !== 'InvalidInput') return { status, body: bodyOf(tag) };
  const { message } = transportProblems.InvalidInput;
  const violation = { field: 'request', reason: 'is not valid' };
  return { status: 400, body: { _tag: 'InvalidInput', message, ...violation, violations: [violation] } };
}
