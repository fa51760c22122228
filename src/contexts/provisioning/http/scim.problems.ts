import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { ScimInvalid, ScimLastOwner, ScimNotFound, ScimTaken, ScimVersionConflict } from '@domain/provisioning/failures.js';
import { errorSchema, scimErrorOf, scimType } from '@platform/http/scim-error.js';
import type { Problem, ProblemTable } from '@platform/http/problem.js';
import { bodyOf, transportProblems, type TransportTag } from '@platform/http/transport-problems.js';

/** What SCIM routes answer, as RFC 7644, 3.12, has it. A failure's own `detail` counts before the message. */
export const scimProblems = {
  ScimInvalid: { status: 400, message: 'The request is not what this route takes.', example: { scimType: 'invalidValue', detail: 'userName is a text of 1 to 256 characters.' } },
  ScimNotFound: { status: 404, message: 'This directory has told of nothing with this id.' },
  ScimTaken: { status: 409, message: 'Somebody else has it.', example: { scimType: 'uniqueness', detail: 'Another user of this directory has this userName.' } },
  ScimLastOwner: { status: 409, message: 'This is the last owner of the organization: people there make another one first.' },
  ScimVersionConflict: { status: 412, message: 'It was changed since the version in If-Match.' },
} satisfies ProblemTable<ScimInvalid | ScimTaken | ScimNotFound | ScimVersionConflict | ScimLastOwner>;

const common = ['Unauthenticated', 'BodyTooLarge', 'UnsupportedMediaType'] as const satisfies readonly TransportTag[];
const others: readonly (Problem & { readonly tag: string })[] = [
  ...common.map((tag) => ({ tag, ...transportProblems[tag], example: bodyOf(tag) })),
  { tag: 'RateLimited', status: 429, message: 'You do this too often. Try again after the time in Retry-After.' },
  { tag: 'RequestFailed', status: 500, message: 'The request failed. Quote the error id to your operator.' },
  { tag: 'RequestFailed', status: 503, message: 'The database does not answer at the moment. Try again.' },
];

/** Documents what a SCIM route answers when not all is well. */
export const ApiScimProblems = (...tags: readonly (keyof typeof scimProblems)[]): MethodDecorator => {
  const problems: readonly (Problem & { readonly tag: string })[] = [...tags.map((tag) => ({ tag, ...scimProblems[tag] })), ...others];
  const statuses = [...new Set(problems.map(({ status }) => status))];
  const schema = {
    type: 'object',
    required: ['schemas', 'status', 'detail'],
    properties: {
      schemas: { type: 'array', items: { type: 'string', enum: [errorSchema] } },
      status: { type: 'string' },
      scimType: { type: 'string' },
      detail: { type: 'string' },
    },
  } as const;
  return applyDecorators(
    ...statuses.map((status) => {
      const here = problems.filter((problem) => problem.status === status);
      const examples = Object.fromEntries(here.map(({ tag, message, example }) => [tag, { value: scimErrorOf(status, { _tag: tag, message, ...example }) }]));
      return ApiResponse({ status, description: here.map(({ tag }) => tag).join(', '), content: { [scimType]: { schema: schema as never, examples } } });
    }),
  );
};
