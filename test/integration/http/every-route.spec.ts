import { faultsOf, goodBodies, rawFaultsOf } from './every-route-bodies.js';
import { bodySchemaOf, isPublic, mismatches, parametersOf, type Operation, type Parameter } from './every-route-document.js';
import { openEveryRoute, send, type EveryRoute, type Sent } from './every-route-world.js';

// Some thousand requests, one after the other.
jest.setTimeout(120_000);

let world: EveryRoute;
beforeAll(async () => {
  world = await openEveryRoute();
});
afterAll(() => world.close());

const withBody = (): Operation[] => world.operations.filter((operation) => bodySchemaOf(operation));
const goodBody = ({ operationId }: Operation) => {
  const make = goodBodies[operationId];
  if (!make) throw new Error(`${operationId} takes a body: say in every-route-bodies.ts which one it accepts`);
  return make(world.mine);
};

/** What is wrong with a refusal, if it is not a typed one with the wanted status. */
function undeclared({ responses }: Operation, { status, tag, body }: Sent): string[] {
  const declared = responses[String(status)]?.content?.['application/json'];
  if (status >= 500) return [`answers ${status} ${tag}`];
  if (!declared) return [`answers ${status} ${tag}, which it does not declare`];
  return mismatches(world.document, declared.schema, body).map((line) => `${status} ${tag}: ${line}`);
}

const isIn = (wanted: string, named: string): boolean =>
  named === wanted || named.startsWith(`${wanted}.`) || named.startsWith(`${wanted}[`) || wanted.startsWith(`${named}.`) || wanted.startsWith(`${named}[`);

test('400: every field of every body is refused by name when it is missing, of another type, out of bounds, or unknown', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  let sent = 0;
  for (const operation of withBody()) {
    for (const { what, field, body } of faultsOf(world.document, bodySchemaOf(operation)!, goodBody(operation))) {
      const answer = await send(world, operation, world.mine.ids, { body: JSON.stringify(body) });
      sent += 1;
      const is = `${operation.operationId}: ${field} ${what}`;
      findings.push(...undeclared(operation, answer).map((line) => `${is}: ${line}`));
      if (answer.status !== 400 && answer.status < 500) findings.push(`${is}: answers ${answer.status} ${answer.tag}`);
      else if (!answer.fields.some((named) => isIn(field, named))) findings.push(`${is}: ${answer.tag} names ${answer.fields.join(', ')}`);
      if (answer.text.length > 10_000) findings.push(`${is}: is echoed in ${answer.text.length} characters`);
    }
  }
  expect(findings).toEqual([]);
  expect(sent).toBeGreaterThan(250);
  expect(await world.stored()).toEqual(before);
});

test('4xx: bodies that are no JSON, too much, or not to be stored are refused on every route, and nothing is stored', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  for (const operation of withBody()) {
    // Nothing is no fault where the document asks for no body.
    const faults = rawFaultsOf(goodBody(operation)).filter(({ body }) => body !== '' || operation.requestBody?.required !== false);
    for (const { what, body, status, tag, field, headers } of faults) {
      const answer = await send(world, operation, world.mine.ids, { body, ...(headers ? { headers } : {}) });
      const is = `${operation.operationId}: ${what}`;
      findings.push(...undeclared(operation, answer).map((line) => `${is}: ${line}`));
      if (answer.status !== status || answer.tag !== tag) findings.push(`${is}: answers ${answer.status} ${answer.tag}`);
      const [named = ''] = answer.fields;
      if (field !== undefined && !isIn(field, named)) findings.push(`${is}: names ${named}`);
      if (status === 400 && named === '') findings.push(`${is}: names nothing`);
    }
  }
  expect(findings).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test('400: wrong headers are refused by name', async () => {
  // An empty number is as none: that is how a browser says that it has no event yet.
  const wrong = ({ schema }: Parameter) => (schema.type === 'integer' ? ['x', '-1', '1.5', '9'.repeat(20)] : ['', 'k'.repeat((schema.maxLength ?? 1_000) + 1)]);
  const cases = world.operations.flatMap((operation) =>
    parametersOf(operation, 'header').flatMap((header) => wrong(header).map((value) => ({ operation, name: header.name, value }))),
  );
  const findings: string[] = [];
  for (const { operation, name, value } of cases) {
    const body = bodySchemaOf(operation) ? { body: JSON.stringify(goodBody(operation)) } : {};
    const answer = await send(world, operation, world.mine.ids, { ...body, headers: { [name]: value } });
    if (answer.status !== 400 || answer.fields[0] !== name)
      findings.push(`${operation.operationId}: ${name} "${value.slice(0, 20)}": ${answer.status} ${answer.tag} ${answer.fields.join()}`);
  }
  expect(findings).toEqual([]);
  expect(cases.length).toBeGreaterThan(4);
});

/** Whatever can be seen is a name that a call may have. */
const isFreeText = ({ operationId }: Operation, parameter: string): boolean => operationId === 'listExecutionCalls' && parameter === 'name';

test('400: every parameter of a query is refused by name when it is of another type, out of bounds, given twice or unknown', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  const ask = async (operation: Operation, query: string, field: string) => {
    const answer = await send(world, operation, world.mine.ids, { query: `?${query}` });
    const is = `${operation.operationId}: ${query.slice(0, 60)}`;
    findings.push(...undeclared(operation, answer).map((line) => `${is}: ${line}`));
    const [named = ''] = answer.fields;
    if (answer.status !== 400 || answer.tag !== 'InvalidInput' || named !== field) findings.push(`${is}: ${answer.status} ${answer.tag} ${named}`);
  };
  const wrong = ['%00', 'x%00', 'nonsense', '-1', 'bot_0', 'k'.repeat(2_000), '%F0%9F%A7%91', '', '%20', '1e400', '0x10', '99999999999999999999'];
  for (const operation of world.operations) {
    const parameters = parametersOf(operation, 'query');
    const needed = parameters.filter(({ required }) => required).map(({ name }) => `${name}=1&`);
    const others = (name: string): string => needed.filter((text) => !text.startsWith(name)).join('');
    for (const { name, schema, required } of parameters) {
      const values = isFreeText(operation, name) ? wrong.filter((value) => value === '' || value.includes('%00') || value.length > 1_000) : wrong;
      for (const value of [...values, `1&${name}=2`]) await ask(operation, `${others(name)}${name}=${value}`, name);
      if (schema.minimum !== undefined) await ask(operation, `${name}=${schema.minimum - 1}`, name);
      if (schema.maximum !== undefined) await ask(operation, `${name}=${schema.maximum + 1}`, name);
      if (required) await ask(operation, '', name);
      else await ask(operation, `${needed.join('')}${name}[a]=1`, `["${name}[a]"]`);
    }
    if (parameters.length > 0) for (const name of ['surprise', '__proto__', 'constructor']) await ask(operation, `${needed.join('')}${name}=1`, name);
  }
  expect(findings).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test('401: without a valid token every route that is not public says so, whatever else is wrong', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  const { token } = world.mine.owner;
  const credentials = [undefined, 'Bearer nonsense', `Bearer ${token}x`, `Bearer ${'k'.repeat(5_000)}`, `Basic ${token}`, token, `Bearer ${token} x`];
  const bodies = (operation: Operation) => (bodySchemaOf(operation) ? [JSON.stringify(goodBody(operation)), '{"surprise":1}'] : [undefined]);
  const cases = world.operations
    .filter((operation) => !isPublic(operation))
    .flatMap((operation) => credentials.flatMap((credential) => bodies(operation).map((body) => ({ operation, credential, body }))));
  for (const { operation, credential, body } of cases) {
    const answer = await send(world, operation, world.mine.ids, {
      token: null,
      ...(credential ? { headers: { authorization: credential } } : {}),
      ...(body === undefined ? {} : { body }),
    });
    const is = `${operation.operationId}: ${String(credential).slice(0, 20)}`;
    if (answer.status !== 401 || answer.tag !== 'Unauthenticated') findings.push(`${is}: ${answer.status} ${answer.tag}`);
    if (answer.headers.get('www-authenticate') !== 'Bearer') findings.push(`${is}: does not say how to authenticate`);
  }
  expect(findings).toEqual([]);
  expect(await world.stored()).toEqual(before);
});
