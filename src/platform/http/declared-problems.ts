import type { OpenAPIObject } from '@nestjs/swagger';
import { routeClasses, routeClassNames, type RouteClass } from '@domain/access/route-classes.js';
import { csrfMissing, isSafe } from '@platform/identity/forgery.js';
import type { Permission } from '@platform/identity/identity.js';
import { permissionMissing, transportProblems, type TransportTag } from './transport-problems.js';

type Schema = Record<string, unknown>;
type Response = { description: string; headers?: Record<string, object>; content: { 'application/json': { schema: Schema; examples?: Record<string, { value: object }> } } };
export type Operation = { requestBody?: unknown; responses: Record<string, Response>; security?: object[]; tags?: string[]; operationId?: string } & Record<string, unknown>;
type Declared = { readonly status: number; readonly schema: string; readonly example: object; readonly headers?: Record<string, object> };

const text = { type: 'string' };
const problem = (tag: string, fields: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  required: ['_tag', 'message', ...Object.keys(fields)],
  properties: { _tag: { type: 'string', enum: [tag] }, message: text, ...fields },
});
const violation = { type: 'object', required: ['field', 'reason'], properties: { field: text, reason: text } };

/** The schemas of what any route may answer. */
export const commonSchemas: Record<string, Schema> = {
  InvalidInput: problem('InvalidInput', {
    field: { ...text, description: 'The path of the first violation: `input[0].content`.' },
    reason: text,
    violations: { type: 'array', items: violation },
  }),
  Unauthenticated: problem('Unauthenticated'),
  PermissionMissing: problem('Forbidden', { permission: { ...text, description: 'The permission that your credential lacks here.' } }),
  RateLimited: problem('RateLimited', {
    class: { ...text, enum: [...routeClassNames, 'unauthenticated'], description: 'What was done too often.' },
    retryAfterMs: { type: 'integer', description: 'Milliseconds after which it is allowed again. `Retry-After` says it in seconds.' },
  }),
  ProjectNotFound: problem('ProjectNotFound'),
  CsrfMissing: problem('CsrfMissing'),
  BodyTooLarge: problem('BodyTooLarge'),
  UnsupportedMediaType: problem('UnsupportedMediaType'),
  RequestFailed: problem('RequestFailed', {
    category: { ...text, description: '`storage_unavailable` passes by itself; try again after `Retry-After` seconds.' },
    errorId: { ...text, description: 'Also in the header `openbot-error-id`. The operator finds the sealed cause under it.' },
  }),
};

const plain = (tag: TransportTag): Declared => ({ status: transportProblems[tag].status, schema: tag, example: { _tag: tag, message: transportProblems[tag].message } });
const field = { field: 'limit', reason: 'must not be greater than 100' };
const invalid: Declared = { status: 400, schema: 'InvalidInput', example: { _tag: 'InvalidInput', message: 'limit must not be greater than 100.', ...field, violations: [field] } };
const failed = (status: number, category: string, message: string): Declared => ({
  status,
  schema: 'RequestFailed',
  example: { _tag: 'RequestFailed', message, category, errorId: 'err_01k0000000e00800000000000g' },
});

const notPermitted = (permission: Permission): Declared => ({
  status: 403,
  schema: 'PermissionMissing',
  example: permissionMissing(permission),
});

const header = (description: string, example: string): object => ({ description, schema: { ...text, example } });
const rateLimited = (name: RouteClass): Declared => ({
  status: 429,
  schema: 'RateLimited',
  example: { _tag: 'RateLimited', message: 'You do this too often. Try again after the time in Retry-After.', class: name, retryAfterMs: 1_200 },
  headers: {
    'Retry-After': header('Seconds after which it is allowed again.', '2'),
    'RateLimit-Policy': header('How much is allowed: `q` requests in `w` seconds. Also on every other answer.', `"${name}";q=${routeClasses[name].perMinute};w=60`),
    RateLimit: header('What is left: `r` requests, and all of them again after `t` seconds. Also on every other answer.', `"${name}";r=0;t=60`),
  },
});
const forged: Declared = { status: csrfMissing.status, schema: 'CsrfMissing', example: { _tag: 'CsrfMissing', message: csrfMissing.message } };

const always = [
  invalid,
  failed(500, 'unexpected', 'The request failed. Quote the error id to your operator.'),
  failed(503, 'storage_unavailable', 'The database does not answer at the moment. Try again.'),
];
const ofBodies = [plain('BodyTooLarge'), plain('UnsupportedMediaType')];

/** Joins a common problem with what the route itself declares under the same status. */
function declare(operation: Operation, { status, schema, example, headers }: Declared): void {
  const own = operation.responses[String(status)];
  const content = own?.content?.['application/json'];
  const reference = { $ref: `#/components/schemas/${schema}` };
  operation.responses[String(status)] = {
    description: own ? `${own.description}, ${schema}` : schema,
    ...(own?.headers || headers ? { headers: { ...own?.headers, ...headers } } : {}),
    content: {
      'application/json': {
        schema: content ? { oneOf: [...((content.schema['oneOf'] as Schema[] | undefined) ?? [content.schema]), reference] } : reference,
        examples: { ...content?.examples, [schema]: { value: example } },
      },
    },
  };
}

/** Every operation says all that it may answer, without its controller repeating it. */
export function declareCommonProblems(method: string, operation: Operation, permission: Permission | undefined, routeClass: RouteClass | null): void {
  // What a protocol of others answers is in its own form, and declared where it is spoken.
  if (permission === 'directory') return;
  const isPublic = permission === undefined || permission === 'public';
  for (const declared of always) declare(operation, declared);
  if (!isPublic) {
    declare(operation, plain('Unauthenticated'));
    declare(operation, notPermitted(permission));
    // Whoever writes may meet the end of the project that the credential acted in a moment ago.
    if (operation.requestBody || operation.responses['404']) declare(operation, plain('ProjectNotFound'));
  }
  if (routeClass) declare(operation, rateLimited(routeClass));
  if (!isSafe(method.toUpperCase())) declare(operation, forged);
  if (operation.requestBody) for (const declared of ofBodies) declare(operation, declared);
}

/** Each with its method. */
export const operationsOf = (document: OpenAPIObject): (readonly [string, Operation])[] =>
  Object.values(document.paths).flatMap((path) =>
    Object.entries(path as Record<string, unknown>).flatMap(([method, operation]) =>
      /^(get|put|post|delete|patch|head|options)$/.test(method) ? [[method, operation as Operation] as const] : [],
    ),
  );
