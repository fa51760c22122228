import { Pool } from 'pg';
import { childIdOf } from '@engine/child.js';
import type { Hint } from '@engine/wake-channel.js';
import { WakeChannel } from '@engine/wake-channel.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { Caller, TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createFamilyFeature, familyHandlers, familySaga, type FamilyCursor } from '../engine/family-feature.js';
import { identityOf, pathOf, startExecutionApp } from './execution-app.js';

let database: TestDatabase;
let superuser: Pool;
let app: TestApp;
let engine: EngineHarness;
let owner: Caller;
let other: Caller;
let who: Identity;
const hints: Hint[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  superuser = new Pool({ connectionString: database.url });
  await createFamilyFeature(superuser);
  ({ app } = await startExecutionApp(database, { WAKE: 'none' }));
  owner = await app.createTenant();
  other = await app.createMember(owner);
  who = await identityOf(owner);
  app.nest.get(WakeChannel).subscribe((hint) => hints.push(hint));
  engine = await startEngine(database, [...familyHandlers, familySaga('family')]);
});
afterAll(async () => {
  await engine.stop();
  await app.close();
  await superuser.end();
  await database.close();
});

const start = (cursor: FamilyCursor): Promise<string> => admit(database, who.context as Required<Identity['context']>, 'family', cursor, { memberId: who.memberId });
const shown = async (id: string, caller = owner) => (await caller.call('GET', pathOf(id))).body;
const inState = (id: string, state: string) =>
  eventually(
    () => shown(id),
    (body) => body['state'] === state,
  );

test('200: a failure that went from child to parent has the same id at both, and a child names its parent', async () => {
  const id = await start({ failsWithChild: true, children: [{ attached: true, cursor: { as: 'throws' } }] });
  const parent = await inState(id, 'failed');
  const child = await inState(childIdOf(id, 'child 0'), 'failed');
  expect(child['failure']).toEqual({ category: 'internal', errorId: expect.stringMatching(/^err_/) });
  expect(parent).toMatchObject({ parent: null, failure: child['failure'] });
  expect(child).toMatchObject({ parent: toPublicId('execution', id) });
});

test('404: a child is shown to whom its parent is, and to nobody else', async () => {
  const id = await start({ children: [{ attached: false, cursor: {} }] });
  const child = childIdOf(id, 'child 0');
  await inState(child, 'completed');
  const [foreign, missing] = [await other.call('GET', pathOf(child)), await other.call('GET', pathOf(childIdOf(child, 'none')))];
  expect(foreign.status).toBe(404);
  expect(foreign.text).toBe(missing.text);
});

test('200: what work fails with is shown with its end, not while it waits for its children', async () => {
  const id = await start({ as: 'throws', children: [{ attached: true, cursor: { holds: true } }] });
  const seen: unknown[] = [];
  const last = await eventually(
    async () => {
      const body = await shown(id);
      if (body['endedAt'] === null) seen.push(body['failure']);
      return body;
    },
    (body) => body['state'] === 'failed',
  );
  expect(seen.filter((failure) => failure !== null)).toEqual([]);
  expect(last['failure']).toMatchObject({ category: 'internal' });
});

test('202: a cancel stops attached children with their parent, and wakes all of them', async () => {
  const id = await start({ holds: true, children: [{ attached: true, cursor: { holds: true } }] });
  const child = childIdOf(id, 'child 0');
  await inState(id, 'waiting');
  await inState(child, 'waiting');
  hints.splice(0);
  expect((await owner.call('POST', pathOf(id, '/cancel'), { commandKey: 'stop' })).status).toBe(202);
  expect(hints.flat().sort()).toEqual([id, child].sort());
  await inState(id, 'cancelled');
  await inState(child, 'cancelled');
});
