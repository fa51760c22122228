import type { PoolClient } from 'pg';
import { isPermissionName } from '@domain/access/permissions.js';
import { rightsOf } from '@domain/access/rights.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import type { Caller } from '@test/support/app.js';
import { lockWaiters } from '@test/support/held-lock.js';
import { auditedRoutes } from '../audit/audited-routes.js';
import { goodRequest } from './every-route-bodies.js';
import { isPublic, type Operation } from './every-route-document.js';
import { openEveryRoute, send, type EveryRoute, type Sent } from './every-route-world.js';

jest.setTimeout(300_000);

const gives = 'It gives nobody a right.';
const takes = 'It takes rights alone, and those who make the change meanwhile took theirs.';
/** Operations that tell the audit log and do not wait for a change of who may do what, each with the reason. */
const beside: Readonly<Record<string, string>> = {
  changePassword: 'It is the member’s own, judged by the password.',
  createBot: gives,
  changeBot: gives,
  deleteBot: gives,
  decideExecutionCall: 'The engine’s fences judge it, and the work of whoever lost a right is stopped.',
  revokeToken: takes,
  revokeApiKey: takes,
  revokeServiceAccountToken: takes,
  signOut: takes,
  endSession: takes,
  endOtherSessions: takes,
  verifyDomain: 'It asks the domain first, which this world has not: `test/integration/identity-providers/domains.spec.ts`.',
};

let world: EveryRoute;
let outside: PoolClient;
let late: Caller;
beforeAll(async () => {
  world = await openEveryRoute();
  outside = await world.outside.connect();
  late = await world.app.createMember(world.mine.owner, 'owner', 'late@example.com');
});
afterAll(async () => {
  outside?.release();
  await world?.close();
});

const waiting = (): Operation[] =>
  world.operations.filter((operation) => !isPublic(operation) && 'tells' in (auditedRoutes[operation.operationId] ?? {}) && !(operation.operationId in beside));

/** The good request of an operation, let in with rights that are taken from its caller before its first write. */
async function askLate(operation: Operation, change: string): Promise<Sent> {
  const member = [late.organizationId, fromPublicId('member', late.memberId)];
  await outside.query('begin');
  await outside.query('select from organization where id = $1 for no key update', [late.organizationId]);
  const answer = send(world, operation, world.mine.ids, { token: late.token, ...goodRequest(operation, world.mine) });
  try {
    await Promise.race([lockWaiters(outside, 1), answer.then(({ status, text }) => Promise.reject(new Error(`${operation.operationId} did not wait: ${status} ${text}`)))]);
    await outside.query(`update member set ${change} where organization_id = $1 and id = $2`, member);
  } finally {
    await outside.query('commit');
  }
  const given = await answer;
  await outside.query(`update member set role = 'owner', suspended_at = null where organization_id = $1 and id = $2`, member);
  return given;
}

test('each operation that tells the audit log waits for changes of who may do what, or says why not', () => {
  expect(Object.keys(beside).filter((id) => !('tells' in (auditedRoutes[id] ?? {})))).toEqual([]);
  expect(waiting().length).toBeGreaterThan(25);
});

test.each([
  ['the caller’s role', `role = 'viewer'`, 403, 'Forbidden'],
  ['the caller’s membership, for now', 'suspended_at = clock_timestamp()', 401, 'Unauthenticated'],
])('%s is taken while a request waits: it is refused, and nothing is written', async (_, change, status, tag) => {
  const before = await world.stored();
  const kept = rightsOf({ role: 'viewer', projectRole: null });
  const operations = waiting().filter(({ 'x-permission': permission }) => status === 401 || (permission !== undefined && isPermissionName(permission) && !kept.has(permission)));
  const findings: string[] = [];
  for (const operation of operations) {
    const answer = await askLate(operation, change);
    if (answer.status !== status || answer.tag !== tag) findings.push(`${operation.operationId}: ${answer.status} ${answer.text}`);
  }
  expect(findings).toEqual([]);
  expect(operations.length).toBeGreaterThan(20);
  expect(await world.stored()).toEqual(before);
});
