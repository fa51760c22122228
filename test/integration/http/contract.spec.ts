import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bodySchemaOf, isPublic, mismatches, operationsOf, parametersOf, prefilled, resolve, type Document, type Operation, type Schema } from './every-route-document.js';

/** The document as it is handed out; that it is the program's own is the snapshots' business. */
const document = JSON.parse(readFileSync(join(__dirname, '..', '..', 'contract', 'openapi.json'), 'utf8')) as Document;
const operations = operationsOf(document);
const findings = (rule: (operation: Operation) => readonly string[]): string[] =>
  operations.flatMap((operation) => rule(operation).map((line) => `${operation.operationId}: ${line}`));

test('it is OpenAPI 3.0 and has every route', () => {
  expect(document.openapi).toMatch(/^3\.0\.\d$/);
  expect(operations.length).toBeGreaterThan(40);
});

test('every operation has an id of its own, one tag, a summary and a permission', () => {
  const ids = operations.map(({ operationId }) => operationId);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(
    findings(({ operationId, summary, tags, ...operation }) => [
      ...(/^[a-z][A-Za-z]+$/.test(operationId) ? [] : ['has no id']),
      ...(summary && summary.length > 5 ? [] : ['has no summary']),
      ...(tags?.length === 1 ? [] : ['has not one tag']),
      ...(/^(public|directory|[a-z-]+\.[a-z-]+)$/.test(operation['x-permission'] ?? '') ? [] : ['has no permission']),
    ]),
  ).toEqual([]);
});

test('every reference leads somewhere, and no schema is there for nobody', () => {
  const text = JSON.stringify(document);
  const named = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!);
  expect(named.filter((reference) => !reference.startsWith('#/components/schemas/') || !(reference.slice(21) in document.components.schemas))).toEqual([]);
  expect(Object.keys(document.components.schemas).filter((name) => !named.includes(`#/components/schemas/${name}`))).toEqual([]);
});

test('the parameters of a path are those that its operation declares', () => {
  const places = (operation: Operation): string[] => [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  expect(
    findings((operation) => {
      const declared = parametersOf(operation, 'path').map(({ name }) => name);
      const missing = places(operation).filter((name) => !declared.includes(name));
      const surplus = declared.filter((name) => !places(operation).includes(name));
      return [...missing.map((name) => `does not declare ${name}`), ...surplus.map((name) => `has no ${name} in its path`)];
    }),
  ).toEqual([]);
});

test('every operation that is not public names a scheme that is there, and says 401', () => {
  const schemes = Object.keys(document.components.securitySchemes);
  expect(document.components.securitySchemes).toMatchObject({ token: { type: 'http', scheme: 'bearer', bearerFormat: 'opaque' } });
  expect(
    findings((operation) => {
      const named = operation.security.flatMap((scheme) => Object.keys(scheme));
      if (isPublic(operation)) return operation['x-permission'] === 'public' ? [] : ['needs no token'];
      return [...named.filter((name) => !schemes.includes(name)).map((name) => `names ${name}`), ...('401' in operation.responses ? [] : ['does not say 401'])];
    }),
  ).toEqual([]);
});

/** What answers a directory is in the form of SCIM. */
const scimOf = (content: Operation['responses'][string]['content']) => content?.['application/scim+json'];

test('every problem has an example, and every example is what its schema says', () => {
  // A route may refuse for reasons of its own too, under the same tag.
  const ofScim = ({ schema, examples = {} }: NonNullable<ReturnType<typeof scimOf>>, status: string): string[] =>
    Object.values(examples).flatMap(({ value }) => [
      ...((value as { status?: string }).status === status ? [] : [`${status}: shows another`]),
      ...mismatches(document, schema, value, status),
    ]);
  const ofMedia = (schema: Schema, status: string, examples: Readonly<Record<string, { readonly value: { readonly _tag?: string } }>>): string[] =>
    Object.entries(examples).flatMap(([tag, { value }]) => [
      ...(value._tag === tag || (tag === 'PermissionMissing' && value._tag === 'Forbidden') ? [] : [`${status}: ${tag} shows ${value._tag}`]),
      ...mismatches(document, schema, value, `${status} ${tag}`),
    ]);
  expect(
    findings(({ responses }) =>
      Object.entries(responses).flatMap(([status, { content }]) => {
        const json = content?.['application/json'];
        if (Number(status) < 400) return [];
        const scim = scimOf(content);
        if (scim) return ofScim(scim, status);
        const examples = json?.examples ?? {};
        return json && Object.keys(examples).length > 0 ? ofMedia(json.schema, status, examples) : [`${status} has no example`];
      }),
    ),
  ).toEqual([]);
});

test('what the page offers for a body is what the body takes', () => {
  const withBody = operations.filter((operation) => bodySchemaOf(operation));
  expect(withBody.length).toBeGreaterThan(10);
  expect(
    findings((operation) => {
      const schema = bodySchemaOf(operation);
      return schema ? mismatches(document, schema, prefilled(document, schema)) : [];
    }),
  ).toEqual([]);
});

test('every example of a field is one of its values', () => {
  const examplesOf = (schema: Schema, at: string): string[] => {
    const { example, ...bare } = schema;
    const own = example === undefined || example === null ? [] : mismatches(document, bare, example, at);
    const members = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => examplesOf(member, `${at}.${name}`));
    return [...own, ...members, ...(schema.items ? examplesOf(schema.items, `${at}[]`) : []), ...(schema.oneOf ?? []).flatMap((choice) => examplesOf(choice, at))];
  };
  expect(Object.entries(document.components.schemas).flatMap(([name, schema]) => examplesOf(resolve(document, schema), name))).toEqual([]);
});

test.each<[string, Schema, unknown, string]>([
  ['a missing member', { type: 'object', required: ['a'], properties: { a: {} } }, {}, 'body.a is missing'],
  ['a member that nobody declared', { type: 'object', properties: {} }, { a: 1 }, 'body.a is not declared'],
  ['another type inside a list', { type: 'array', items: { type: 'string' } }, ['a', 1], 'body[1] is integer, not string'],
  ['a word outside of its list', { type: 'string', enum: ['a'] }, 'b', 'body is none of a'],
  ['nothing where something is', { type: 'string' }, null, 'body is null, not string'],
  ['a reference', { $ref: '#/components/schemas/Unauthenticated' }, { _tag: 'Unauthenticated' }, 'body.message is missing'],
  ['none of several forms', { oneOf: [{ type: 'string' }, { type: 'array' }] }, 1, 'body is none of its 2 forms'],
  ['too much', { type: 'string', maxLength: 1 }, '🗼🗼', 'body is out of its bounds'],
])('what is wrong is found: %s', (_, schema, value, finding) => {
  expect(mismatches(document, schema, value)).toEqual([finding]);
});
