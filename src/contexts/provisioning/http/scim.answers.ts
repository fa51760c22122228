import { applyDecorators, createParamDecorator, Header, type ExecutionContext } from '@nestjs/common';
import { ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { coreUser, segmentsOf, type JsonObject } from '@domain/provisioning/attributes.js';
import { readFilter } from '@domain/provisioning/filter.js';
import { invalid } from '@domain/provisioning/patch.js';
import { ok, type Result } from '@domain/result.js';
import type { ScimInvalid } from '@domain/provisioning/failures.js';
import { respond } from '@platform/http/problem.js';
import { scimType } from '@platform/http/scim-error.js';
import type { Asked } from '../queries/users.js';
import { scimProblems } from './scim.problems.js';

/** A number of entries (RFC 7644, 3.4.2.4). */
const [defaultCount, mostCount, largestStart] = [100, 200, 10_000_000];
export const mostResults = mostCount;
const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export const ApiScim = (status: number, description: string): MethodDecorator =>
  applyDecorators(
    Header('content-type', `${scimType}; charset=utf-8`),
    ApiResponse({ status, description, content: { [scimType]: { schema: { type: 'object' }, example: { schemas: [coreUser] } } } }),
  );

export const ApiScimList = (): MethodDecorator =>
  applyDecorators(
    ...[
      ['filter', 'string', 'RFC 7644, 3.4.2.2'],
      ['startIndex', 'integer', 'Counted from 1.'],
      ['count', 'integer', `At most ${mostCount}.`],
    ].map(([name, type, description]) => ApiQuery({ name: name!, required: false, schema: { type: type as 'string' }, description: description! })),
    ApiScimProjection(),
  );

export const ApiScimProjection = (): MethodDecorator =>
  applyDecorators(
    ...['attributes', 'excludedAttributes'].map((name) =>
      ApiQuery({ name, required: false, schema: { type: 'string' }, description: 'Names of attributes, with commas between.' }),
    ),
  );

type Query = Readonly<Record<string, unknown>>;

/** What SCIM reads of a request beside its body: it says much in headers and in a query of its own kind. */
export type ScimCall = { readonly query: Query; readonly request: FastifyRequest; readonly reply: FastifyReply };
export const CurrentCall = createParamDecorator((_: unknown, context: ExecutionContext): ScimCall => {
  const http = context.switchToHttp();
  const request = http.getRequest<FastifyRequest>();
  return { query: request.query as Query, request, reply: http.getResponse<FastifyReply>() };
});

const wholeNumber = (query: Query, name: string, otherwise: number, least: number, most: number): Result<number, ScimInvalid> => {
  const given = query[name];
  if (given === undefined || given === '') return ok(otherwise);
  if (typeof given !== 'string' || !/^[+-]?\d{1,15}$/.test(given)) return invalid('invalidValue', `${name} is a whole number.`);
  return ok(Math.min(Math.max(Number(given), least), most));
};

/** What of a list is asked for. Throws what is wrong with it. */
export function askedOf(query: Query): Asked {
  const text = query['filter'];
  if (text !== undefined && typeof text !== 'string') throw refusal(invalid('invalidFilter', 'There is one filter.'));
  const startIndex = respond(wholeNumber(query, 'startIndex', 1, 1, largestStart), scimProblems);
  const count = respond(wholeNumber(query, 'count', defaultCount, 0, mostCount), scimProblems);
  return { filter: text ? respond(readFilter(text), scimProblems) : null, startIndex, count };
}

const refusal = (result: Result<never, ScimInvalid>): Error => {
  try {
    return respond(result, scimProblems);
  } catch (error) {
    return error as Error;
  }
};

/** Which attributes an answer has (RFC 7644, 3.4.2.5). */
export type Projection = { readonly only: readonly (readonly string[])[] | null; readonly without: readonly (readonly string[])[] };

export function projectionOf(query: Query): Projection {
  const read = (name: string): (readonly string[])[] | null => {
    const given = query[name];
    if (given === undefined || given === '') return null;
    if (typeof given !== 'string') throw refusal(invalid('invalidValue', `${name} are names with commas between.`));
    return given.split(',').map((each) => segmentsOf(each.trim()) ?? ['?']);
  };
  return { only: read('attributes'), without: read('excludedAttributes') ?? [] };
}

const always = ['id', 'schemas'];
export const leavesOut = ({ only, without }: Projection, name: string): boolean =>
  without.some((path) => path.length === 1 && path[0] === name) || (only !== null && !only.some(([first]) => first === name));

/** What of a resource is asked for. Its id is in every answer. */
export function projected(resource: JsonObject, { only, without }: Projection): JsonObject {
  const kept = only ? picked(resource, [...only, ...always.map((name) => [name])]) : resource;
  const dropped = without.filter(([name]) => !always.includes(name ?? ''));
  return dropped.reduce<JsonObject>((left, path) => lacking(left, path), kept);
}

function picked(resource: JsonObject, paths: readonly (readonly string[])[]): JsonObject {
  const entries = Object.entries(resource).flatMap(([name, value]): [string, JsonObject[string]][] => {
    const here = paths.filter(([first]) => first === name);
    if (here.length === 0) return [];
    const rest = here.map(([, ...more]) => more);
    return [[name, rest.some((more) => more.length === 0) ? value : eachOf(value, (inner) => picked(inner, rest))]];
  });
  return Object.fromEntries(entries);
}

function lacking(resource: JsonObject, [name, ...rest]: readonly string[]): JsonObject {
  if (name === undefined || !Object.hasOwn(resource, name)) return resource;
  const { [name]: value, ...others } = resource;
  return rest.length === 0 ? others : { ...resource, [name]: eachOf(value!, (inner) => lacking(inner, rest)) };
}

const eachOf = (value: JsonObject[string], change: (inner: JsonObject) => JsonObject): JsonObject[string] => {
  if (Array.isArray(value)) return value.map((each) => eachOf(each, change));
  return typeof value === 'object' && value !== null ? change(value) : value;
};

type Stored = { readonly revision: number; readonly created_at: Date; readonly updated_at: Date };
export const versionOf = ({ revision }: Pick<Stored, 'revision'>): string => `W/"${revision}"`;

export const metaOf = (resourceType: 'User' | 'Group', row: Stored, location: string | null): JsonObject => ({
  resourceType,
  created: row.created_at.toISOString(),
  lastModified: row.updated_at.toISOString(),
  ...(location === null ? {} : { location }),
  version: versionOf(row),
});

/** The revision that a change is made for; `null`: for any. A version that is none of ours is nothing's. */
export function revisionOf({ headers }: FastifyRequest): number | null {
  const given = headers['if-match'];
  if (given === undefined || given === '*') return null;
  return Number(/^(?:W\/)?"(\d{1,9})"$/.exec(given)?.[1] ?? 0);
}

/** Whether the caller has this version already. */
export const isKnown = ({ headers }: FastifyRequest, row: Pick<Stored, 'revision'>): boolean => headers['if-none-match'] === versionOf(row);

export function tellVersion(reply: FastifyReply, row: Pick<Stored, 'revision'>, location: string | null): void {
  void reply.header('etag', versionOf(row));
  if (location !== null) void reply.header('location', location);
}

export const listOf = (resources: readonly JsonObject[], total: number, { startIndex }: Pick<Asked, 'startIndex'>): JsonObject => ({
  schemas: [listSchema],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: [...resources],
});
