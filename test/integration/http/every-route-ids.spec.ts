import { v7 as uuidv7 } from 'uuid';
import { idPrefixes } from '@domain/ids.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { goodRequest } from './every-route-bodies.js';
import { bodySchemaOf, mismatches, parametersOf, prefilled, type Operation } from './every-route-document.js';
import { kindOf, missingId, openEveryRoute, send, type EveryRoute, type Ids, type Sent, type Tenant } from './every-route-world.js';

// Some thousand requests, one after the other.
jest.setTimeout(120_000);

let world: EveryRoute;
beforeAll(async () => {
  world = await openEveryRoute();
});
afterAll(() => world.close());

const withIds = (): Operation[] => world.operations.filter((operation) => parametersOf(operation, 'path').length > 0);
/** What else the operation needs to be answered by what its path names. */
const rest = (operation: Operation, tenant: Tenant) => ({ token: tenant.owner.token, ...goodRequest(operation, tenant) });
const asked = (operation: Operation, tenant: Tenant, ids: Ids): Promise<Sent> => send(world, operation, ids, rest(operation, tenant));
const same = (one: Sent, other: Sent): boolean => one.status === other.status && one.text === other.text;
const missingIds = (ids: Ids): Ids => Object.fromEntries(Object.keys(ids).map((name) => [name, missingId(name)]));

/** Every spelling of something that is no id of this kind, as it stands in a path. */
function malformed(name: string, id: string): string[] {
  const kind = kindOf(name);
  const other = kind === 'bot' ? 'chat' : 'bot';
  return [
    'x',
    idPrefixes[kind],
    `${idPrefixes[kind]}_`,
    id.slice(0, -1),
    `${id}0`,
    id.toUpperCase(),
    `${id.slice(0, -1)}u`,
    `${idPrefixes[kind]}_8zzzzzzzzzzzzzzzzzzzzzzzzz`,
    toPublicId(other, uuidv7()),
    uuidv7(),
    `${id}%00`,
    '%00',
    `%20${id}`,
    `${id}%2F..`,
    '%F0%9F%A7%91',
    '%27%20or%201=1--',
    'constructor',
    'k'.repeat(250),
  ];
}

test('404: an id that is none answers with the same bytes as one that is missing', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  for (const operation of withIds()) {
    const missing = await asked(operation, world.mine, missingIds(world.mine.ids));
    if (missing.status !== 404 || !/NotFound$/.test(String(missing.tag))) findings.push(`${operation.operationId}: a missing id answers ${missing.status} ${missing.tag}`);
    const declared = operation.responses['404']?.content?.['application/json']?.schema ?? {};
    findings.push(...mismatches(world.document, declared, missing.body).map((line) => `${operation.operationId}: ${line}`));
    const spellings = parametersOf(operation, 'path').flatMap(({ name }) => malformed(name, world.mine.ids[name]!).map((spelling) => ({ name, spelling })));
    for (const { name, spelling } of spellings) {
      const answer = await asked(operation, world.mine, { ...world.mine.ids, [name]: spelling });
      if (!same(answer, missing)) findings.push(`${operation.operationId}: ${name} ${spelling.slice(0, 50)}: ${answer.status} ${answer.text}`);
    }
  }
  expect(findings).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test('4xx: a path that is no text, or longer than any, is refused by type', async () => {
  const findings: string[] = [];
  for (const operation of withIds()) {
    for (const spelling of ['%ff', '%', '%zz', '%ed%a0%80', 'k'.repeat(300), 'k'.repeat(8_000), '', '..', '%2e%2e']) {
      const ids = Object.fromEntries(Object.keys(world.mine.ids).map((name) => [name, spelling]));
      const answer = await asked(operation, world.mine, ids);
      if (answer.status < 400 || answer.status >= 500 || answer.tag === null)
        findings.push(`${operation.operationId}: ${spelling.slice(0, 20)}: ${answer.status} ${answer.text.slice(0, 100)}`);
    }
  }
  // A path without its last id may be another route, that of the list or of the parent.
  expect(findings.filter((finding) => !/: (|\.\.|%2e%2e): 200 /.test(finding))).toEqual([]);
});

test("404: another tenant's ids answer with the same bytes as missing ones, on every route and for every id in it", async () => {
  const before = await world.stored();
  const findings: string[] = [];
  let asks = 0;
  for (const operation of withIds()) {
    const names = parametersOf(operation, 'path').map(({ name }) => name);
    const missing = await asked(operation, world.theirs, missingIds(world.theirs.ids));
    for (const foreign of [names, ...names.map((name) => [name])]) {
      const ids = { ...world.theirs.ids, ...Object.fromEntries(foreign.map((name) => [name, world.mine.ids[name]!])) };
      const answer = await asked(operation, world.theirs, ids);
      asks += 1;
      if (!same(answer, missing)) findings.push(`${operation.operationId} with a foreign ${foreign.join(' and ')}: ${answer.status} ${answer.text}`);
    }
  }
  expect(findings).toEqual([]);
  expect(asks).toBeGreaterThan(withIds().length);
  expect(await world.stored()).toEqual(before);
});

test('2xx: the body that the documentation page offers is accepted where a newcomer begins', async () => {
  for (const operationId of ['createBot', 'sendBotMessage']) {
    const operation = world.operations.find((candidate) => candidate.operationId === operationId)!;
    const offered = prefilled(world.document, bodySchemaOf(operation)!);
    const answer = await send(world, operation, world.mine.ids, { body: JSON.stringify(offered) });
    expect({ operationId, offered, status: answer.status, tag: answer.tag }).toEqual({ operationId, offered, status: expect.any(Number) as number, tag: null });
  }
});

test('2xx: every route answers its good request with a declared status, and with what the document says of it', async () => {
  const findings: string[] = [];
  // What takes something away comes last, and its parts before the whole.
  const order = (operation: Operation): number => (operation.method === 'GET' ? 0 : operation.method === 'DELETE' ? 2 : 1);
  const operations = [...world.operations].sort((a, b) => order(a) - order(b));
  for (const operation of operations.filter(({ operationId }) => !/^observe/.test(operationId))) {
    const answer = await asked(operation, world.mine, world.mine.ids);
    const declared = operation.responses[String(answer.status)];
    const schema = declared?.content?.['application/json']?.schema;
    const is = `${operation.operationId} ${answer.status}`;
    if (!declared) findings.push(`${is} is not declared: ${answer.text}`);
    else if (schema) findings.push(...mismatches(world.document, schema, answer.body).map((line) => `${is}: ${line}`));
    else if (answer.text !== '' && !declared.content?.[answer.headers.get('content-type')?.split(';')[0] ?? '']?.schema) findings.push(`${is}: a body without a schema`);
    if (answer.status >= 300 && !settled.has(operation.operationId)) findings.push(`${is}: ${answer.text}`);
  }
  expect(findings).toEqual([]);
});

/** Their good request meets a state that this world does not have: work with a lost result, a turn that still runs, a domain whose DNS says nothing, revisions moved by the requests before, sessions that a new password has ended. */
const settled = new Set([
  'verifyDomain',
  'signOut',
  'endSession',
  'decideExecutionCall',
  'setBotGrants',
  'setProjectMembers',
  'removeMember',
  'replaceTodos',
  'deleteBot',
  'deleteProject',
]);
