import type { INestApplication } from '@nestjs/common';
import { openApiDocument } from '@platform/http/openapi.js';

/** What the document says of a value, as far as our controllers say it. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  readonly example?: unknown;
};

export type Parameter = { readonly name: string; readonly in: 'path' | 'query' | 'header'; readonly required?: boolean; readonly schema: Schema };
type Example = { readonly value: { readonly _tag?: string } };
type Media = { readonly schema: Schema; readonly example?: unknown; readonly examples?: Readonly<Record<string, Example>> };
export type Declared = {
  readonly operationId: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-permission'?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Media>> }>>;
};
export type Operation = Declared & { readonly method: string; readonly path: string };

export type Document = {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Declared>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: Readonly<Record<string, object>> };
};

export const documentOf = (app: INestApplication): Document => openApiDocument(app) as unknown as Document;

export const operationsOf = ({ paths }: Document): Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, declared]) => ({ ...declared, method: method.toUpperCase(), path })));

export const parametersOf = ({ parameters = [] }: Operation, place: Parameter['in']): Parameter[] => parameters.filter((parameter) => parameter.in === place);
export const bodySchemaOf = ({ requestBody }: Operation): Schema | null => requestBody?.content['application/json']?.schema ?? null;
export const isPublic = ({ security }: Operation): boolean => security.length === 0;

/** The schema itself, where it is a reference or wraps exactly one. */
export function resolve(document: Document, schema: Schema): Schema {
  const named = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  if (named === undefined) return schema;
  const found = document.components.schemas[named.replace('#/components/schemas/', '')];
  if (!found) throw new Error(`${named} leads nowhere`);
  const { $ref: _ref, allOf: _all, ...own } = schema;
  return { ...resolve(document, found), ...own };
}

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return value === null ? 'null' : typeof value;
};

const isBetween = (value: number, least: number | undefined, most: number | undefined): boolean => value >= (least ?? -Infinity) && value <= (most ?? Infinity);
function isInBounds({ minLength, maxLength, minimum, maximum, minItems, maxItems }: Schema, value: unknown): boolean {
  if (typeof value === 'string') return isBetween([...value].length, minLength, maxLength);
  if (typeof value === 'number') return isBetween(value, minimum, maximum);
  return !Array.isArray(value) || isBetween(value.length, minItems, maxItems);
}

/** Where a value is not what its schema says, one line each; a member that the schema does not name is one too. */
export function mismatches(document: Document, given: Schema, value: unknown, at = 'body'): string[] {
  const schema = resolve(document, given);
  const choices = schema.oneOf ?? schema.anyOf;
  if (value === null && schema.nullable) return [];
  if (choices) return choices.some((choice) => mismatches(document, choice, value, at).length === 0) ? [] : [`${at} is none of its ${choices.length} forms`];
  const own = ownMismatch(schema, value);
  if (own !== null) return [`${at} ${own}`];
  if (Array.isArray(value)) return value.flatMap((element, index) => mismatches(document, schema.items ?? {}, element, `${at}[${index}]`));
  return typeOf(value) === 'object' && schema.properties ? membersOf(document, schema, value as Readonly<Record<string, unknown>>, at) : [];
}

function ownMismatch(schema: Schema, value: unknown): string | null {
  const type = typeOf(value);
  if (schema.type !== undefined && schema.type !== type && !(schema.type === 'number' && type === 'integer')) return `is ${type}, not ${schema.type}`;
  if (schema.enum && !schema.enum.includes(value)) return `is none of ${schema.enum.join(', ')}`;
  return isInBounds(schema, value) ? null : 'is out of its bounds';
}

function membersOf(document: Document, { properties = {}, required = [], additionalProperties }: Schema, value: Readonly<Record<string, unknown>>, at: string): string[] {
  return [
    ...required.filter((name) => value[name] === undefined).map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, member]) => {
      const schema = properties[name];
      if (schema) return member === undefined ? [] : mismatches(document, schema, member, `${at}.${name}`);
      return additionalProperties ? [] : [`${at}.${name} is not declared`];
    }),
  ];
}

/** What Swagger UI writes into the box of a body: the examples of its fields, and defaults where there are none. */
export function prefilled(document: Document, given: Schema): unknown {
  const schema = resolve(document, given);
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const [choice] = schema.oneOf ?? schema.anyOf ?? [];
  if (choice) return prefilled(document, choice);
  if (schema.type === 'array') return schema.items ? [prefilled(document, schema.items)] : [];
  if (schema.type === 'object') return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, member]) => [name, prefilled(document, member)]));
  if (schema.type === 'boolean') return true;
  return schema.type === 'string' ? 'string' : (schema.minimum ?? 0);
}
