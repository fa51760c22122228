import { HttpException, applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { Result } from '@domain/result.js';

type Tagged = { readonly _tag: string };
export type Problem = {
  readonly status: number;
  readonly message: string;
  /** Fields that the failure brings along, as the document shows them. */
  readonly example?: Readonly<Record<string, unknown>>;
};
/** One entry for each failure tag: a missing or an extra tag does not compile. */
export type ProblemTable<F extends Tagged> = { readonly [T in F['_tag']]: Problem };

/** Documents a route's failures from the table that maps them, so that the two cannot differ. */
export function ApiProblems(...tables: readonly Readonly<Record<string, Problem>>[]): MethodDecorator {
  const entries = tables.flatMap((table) => Object.entries(table));
  const statuses = [...new Set(entries.map(([, problem]) => problem.status))];
  return applyDecorators(
    ...statuses.map((status) => {
      const here = entries.filter(([, problem]) => problem.status === status);
      return ApiResponse({
        status,
        description: here.map(([tag]) => tag).join(', '),
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['_tag', 'message'],
              properties: { _tag: { type: 'string', enum: here.map(([tag]) => tag) }, message: { type: 'string' } },
              additionalProperties: true,
            },
            examples: Object.fromEntries(here.map(([tag, problem]) => [tag, { value: { _tag: tag, message: problem.message, ...problem.example } }])),
          },
        },
      });
    }),
  );
}

/** Returns the value, or throws the failure as its public problem. A failure's fields are public: they come from libs/domain. */
export function respond<A, F extends Tagged>(result: Result<A, F>, problems: ProblemTable<F>): A {
  if (result.ok) return result.value;
  const { status, message } = problems[result.failure._tag as F['_tag']];
  throw new HttpException({ ...result.failure, message }, status);
}
