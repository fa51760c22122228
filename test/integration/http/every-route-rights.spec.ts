import * as fc from 'fast-check';
import { permissionNames, type PermissionName } from '@domain/access/permissions.js';
import { keyScopes } from '@domain/access/credentials.js';
import { organizationRoleNames } from '@domain/access/roles.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { goodRequest } from './every-route-bodies.js';
import { isPublic, parametersOf, type Operation } from './every-route-document.js';
import { missingId, openEveryRoute, pathOf, send, type EveryRoute, type Ids, type Sent } from './every-route-world.js';

// Some thousand requests, one after the other.
jest.setTimeout(400_000);

/** Somebody of the tenant, by a credential that may less than its owner. */
type Someone = { readonly who: string; readonly token: string };

let world: EveryRoute;
let someone: Someone[];

beforeAll(async () => {
  world = await openEveryRoute();
  someone = [...(await everyRole()), ...(await narrowed())];
  // A key's first request makes its mirror.
  await Promise.all(someone.map(({ token }) => world.app.as(token)('GET', '/v1/me')));
});
afterAll(() => world.close());

/** One of each role: the first without any grant, the second with one that lets it read the bot and no more. */
async function everyRole(): Promise<Someone[]> {
  const { owner, ids } = world.mine;
  const bare = await Promise.all(organizationRoleNames.slice(1).map((role) => world.app.createMember(owner, role)));
  const granted = await Promise.all(organizationRoleNames.slice(1).map((role) => world.app.createMember(owner, role)));
  const { revision } = (await owner.call('GET', `/v1/bots/${ids['botId']}`)).body;
  const put = await owner.call('PUT', `/v1/bots/${ids['botId']}/grants`, { expected: revision, grants: granted.map(({ memberId }) => ({ member: memberId, rights: ['read'] })) });
  if (put.status !== 200) throw new Error(put.text);
  return organizationRoleNames.slice(1).flatMap((role, index) => [
    { who: `${role} without a grant`, token: bare[index]!.token },
    { who: `${role} who may read the bot`, token: granted[index]!.token },
  ]);
}

/** Tokens of the owner and keys of the organization with a few scopes, drawn, and one for a project where nothing is. */
async function narrowed(): Promise<Someone[]> {
  const { owner } = world.mine;
  const draw = (names: readonly PermissionName[]) => fc.sample(fc.subarray([...names], { minLength: 1, maxLength: 8 }), { numRuns: 3, seed: 20 });
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await owner.call('POST', path, { name: 'Narrow', ...body });
    if (answer.status !== 201) throw new Error(answer.text);
    return (answer.body['token'] ?? answer.body['key']) as string;
  };
  const project = (await owner.call('POST', '/v1/projects', { name: 'Elsewhere' })).body['id'];
  const readers = permissionNames.filter((name) => name.endsWith('.read'));
  const tokens = [readers, ...draw(permissionNames), ...draw(readers)].map(async (scopes) => ({
    who: `token for ${scopes.join(' ')}`,
    token: await made('/v1/me/tokens', { scopes }),
  }));
  const keys = draw(keyScopes).map(async (scopes) => ({ who: `key for ${scopes.join(' ')}`, token: await made('/v1/api-keys', { scopes }) }));
  return [...(await Promise.all([...tokens, ...keys])), { who: 'token for another project', token: await made('/v1/me/tokens', { projects: [project] }) }];
}

const asked = (operation: Operation, token: string, ids: Ids): Promise<Sent> => send(world, operation, ids, { token, ...goodRequest(operation, world.mine) });
const isStream = ({ operationId }: Operation): boolean => operationId.startsWith('observe');
const guarded = (): Operation[] => world.operations.filter((operation) => !isPublic(operation));
const hasIds = (operation: Operation): boolean => parametersOf(operation, 'path').length > 0;
const missing = (ids: Ids): Ids => Object.fromEntries(Object.keys(ids).map((name) => [name, missingId(name)]));

/** Whether the operation is the caller's own read of what it is about: the path up to its last id. */
const resourceOf = ({ path }: Operation): string => path.slice(0, path.lastIndexOf('}') + 1);
const isReadItself = (operation: Operation): boolean => operation.method === 'GET' && operation.path === resourceOf(operation);
const mayRead = async (operation: Operation, token: string): Promise<boolean> =>
  (await world.app.as(token)('GET', pathOf({ ...operation, path: resourceOf(operation) }, world.mine.ids))).status === 200;

/** What the credential may do where the operation happens. */
async function rightsFor({ path }: Operation, token: string): Promise<ReadonlySet<PermissionName>> {
  const project = path.includes('{projectId}') ? fromPublicId('project', world.mine.ids['projectId']!) : null;
  const identity = await world.app.nest.get(Authenticator, { strict: false }).authenticate(token, project);
  if (!identity) throw new Error('the credential does not count');
  return identity.permissions;
}

type Finding = { readonly kind: 'forbidden' | 'hidden' | 'done'; readonly fault: string | null };

/** One request without the permission: what its answer is, and what is wrong with it. */
async function refusal(operation: Operation, token: string): Promise<Finding> {
  const permission = operation['x-permission'];
  const answer = await asked(operation, token, world.mine.ids);
  if (!hasIds(operation) || (!isReadItself(operation) && (await mayRead(operation, token)))) {
    const isRight = answer.status === 403 && answer.tag === 'Forbidden' && answer.body['permission'] === permission;
    return { kind: 'forbidden', fault: isRight ? null : `not 403: ${answer.status} ${answer.text}` };
  }
  const none = await asked(operation, token, missing(world.mine.ids));
  const isHidden = answer.status === 404 && none.status === 404 && answer.text === none.text;
  return { kind: 'hidden', fault: isHidden ? null : `not hidden: ${answer.status} ${answer.text}, missing: ${none.status} ${none.text}` };
}

/** One request with the permission, about something that the caller may have no right to. */
async function judgement(operation: Operation, token: string): Promise<Finding> {
  const reads = await mayRead(operation, token);
  const answer = await asked(operation, token, world.mine.ids);
  const is = `${answer.status} ${answer.text}`;
  if (answer.status === 403) return { kind: 'forbidden', fault: reads ? null : `${is} tells of what the caller cannot read` };
  if (answer.status !== 404) return { kind: 'done', fault: null };
  if (reads) return { kind: 'hidden', fault: `${is} hides what the caller reads` };
  const none = await asked(operation, token, missing(world.mine.ids));
  return { kind: 'hidden', fault: answer.text === none.text ? null : `${is} is not the answer to a missing id: ${none.text}` };
}

/** Asks for each caller and operation in turn; answers what was wrong, and how often each kind was met. */
async function sweep(people: readonly Someone[], operationsFor: (one: Someone) => Promise<readonly Operation[]>, ask: typeof refusal) {
  const met = { forbidden: 0, hidden: 0, done: 0 };
  const faults: string[] = [];
  for (const one of people) {
    for (const operation of await operationsFor(one)) {
      const { kind, fault } = await ask(operation, one.token);
      met[kind] += 1;
      if (fault !== null) faults.push(`${one.who}: ${operation.operationId}: ${fault}`);
    }
  }
  return { faults, met };
}

test('403 exactly where the same caller reads it with 200, else the 404 of a missing id byte for byte: on every route, for every permission that is missing', async () => {
  const before = await world.stored();
  const withoutPermission = async ({ token }: Someone): Promise<Operation[]> => {
    const rights = await Promise.all(guarded().map((operation) => rightsFor(operation, token)));
    return guarded().filter((operation, index) => !rights[index]!.has(operation['x-permission'] as PermissionName));
  };
  const { faults, met } = await sweep(someone, withoutPermission, refusal);
  expect(faults).toEqual([]);
  expect(met.forbidden).toBeGreaterThan(200);
  expect(met.hidden).toBeGreaterThan(200);
  expect(await world.stored()).toEqual(before);
});

test('who has the permission and no right to the thing is refused by the same rule', async () => {
  const people = someone.filter(({ who }) => /^(member|viewer|auditor) /.test(who));
  const operations = guarded().filter((operation) => hasIds(operation) && !isReadItself(operation) && !isStream(operation));
  const { faults, met } = await sweep(people, () => Promise.resolve(operations), judgement);
  expect(faults).toEqual([]);
  expect(met.forbidden).toBeGreaterThan(10);
  expect(met.hidden).toBeGreaterThan(40);
});
