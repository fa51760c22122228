import { readFileSync } from 'node:fs';
import { isAuditAction } from '@domain/audit/actions.js';
import { goodBodies } from '../http/every-route-bodies.js';
import { bodySchemaOf, parametersOf, type Operation } from '../http/every-route-document.js';
import { openEveryRoute, send, type EveryRoute, type Sent } from '../http/every-route-world.js';
import { auditedRoutes } from './audited-routes.js';

// A world with one of everything takes its time on a busy machine.
jest.setTimeout(120_000);

let world: EveryRoute;
beforeAll(async () => {
  world = await openEveryRoute();
});
afterAll(() => world.close());

/** What takes something away comes last, and its parts before the whole. */
const changing = (): Operation[] => world.operations.filter(({ method }) => method !== 'GET').toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));

test('every operation that changes something tells the audit log, or says why not', () => {
  const names = changing().map(({ operationId }) => operationId);
  expect(names.filter((name) => !auditedRoutes[name])).toEqual([]);
  expect(Object.keys(auditedRoutes).filter((name) => !names.includes(name))).toEqual([]);
  const told = Object.values(auditedRoutes).flatMap((route) => ('tells' in route ? [route] : []));
  expect(told.flatMap(({ tells }) => tells).filter((action) => !isAuditAction(action))).toEqual([]);
  for (const { tells, shownBy } of told.filter((route) => route.shownBy !== undefined)) {
    const source = readFileSync(shownBy!, 'utf8');
    expect(tells.filter((action) => !source.includes(action))).toEqual([]);
  }
});

/** At the revision that the requests before have left. */
async function sendAt(operation: Operation, revision: number): Promise<Sent> {
  const { mine } = world;
  const body = bodySchemaOf(operation) ? goodBodies[operation.operationId]!(mine) : null;
  const query = parametersOf(operation, 'query').some(({ name }) => name === 'expected') ? `?expected=${revision}` : '';
  const answer = await send(world, operation, mine.ids, { query, ...(body ? { body: JSON.stringify({ ...body, ...('expected' in body ? { expected: revision } : {}) }) } : {}) });
  const now = answer.body['revision'];
  return answer.status === 409 && typeof now === 'number' && now !== revision ? sendAt(operation, now) : answer;
}

/** Whoever asked: a newcomer is no member before. */
async function toldIn(organization: string): Promise<string[]> {
  const { rows } = await world.outside.query<{ action: string }>(
    `select action from (select action, id from audit_inbox where organization_id = $1 union select action, id from audit_entry where organization_id = $1) told`,
    [organization],
  );
  return rows.map(({ action }) => action);
}

test('each leaves the entries that it names, and no others', async () => {
  const { organizationId } = world.mine.owner;
  const findings: string[] = [];
  for (const operation of changing()) {
    const route = auditedRoutes[operation.operationId]!;
    if ('tells' in route && route.shownBy !== undefined) continue;
    const before = await toldIn(organizationId);
    const { status, text } = await sendAt(operation, 1);
    if ('tells' in route && status >= 300) findings.push(`${operation.operationId}: ${status} ${text}`);
    const after = await toldIn(organizationId);
    for (const action of before) after.splice(after.indexOf(action), 1);
    const wanted = 'tells' in route ? route.tells : [];
    // As many sessions end as there are.
    const kinds = [...new Set(after)];
    if (kinds.toSorted().join() !== wanted.toSorted().join()) findings.push(`${operation.operationId}: told ${after.join(', ') || 'nothing'}`);
  }
  expect(findings).toEqual([]);
});
