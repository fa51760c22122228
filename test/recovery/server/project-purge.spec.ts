import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { fromPublicId } from '@platform/ids/typeid.js';
import { FolderStore } from '@platform/objects/folder-store.js';
import { eventually } from '@test/support/eventually.js';
import { rememberProject, tracesOfProject } from '@test/support/project-traces.js';
import type { ServerPlace, ServerRun } from '@test/support/server-process.js';
import { countProject, fillProject, hashRows, type Filled } from './filled-project.js';
import { accepted, openServerWorld, type ServerWorld } from './server-world.js';

jest.setTimeout(600_000);

const chats = 10_000;
const objects = 2_000;
const nodes = ['first', 'second'];

let world: ServerWorld;
let outside: Client;
let folder: string;
let store: FolderStore;
const places = new Map<string, ServerPlace>();
const servers = new Map<string, ServerRun>();
const armed = (): string => join(folder, 'armed');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openbot-purge-'));
  store = new FolderStore(join(folder, 'objects'));
  world = await openServerWorld();
  outside = new Client(world.database.url);
  await outside.connect();
  const env = { OPENBOT_OBJECTS: join(folder, 'objects'), OPENBOT_DEBUG_POINT: `file:${armed()}` };
  for (const node of nodes) {
    places.set(node, await world.place({ node, env }));
    servers.set(node, await places.get(node)!.start());
  }
});
afterAll(async () => {
  await outside.end();
  await world.close();
  await rm(folder, { recursive: true });
});

const local = () => [...servers.values()][0]!.local;

/** A project of the organization with a bot in it. */
async function newProject(name: string): Promise<Filled & { readonly id: string }> {
  const { id } = (await accepted(local(), 'POST', '/v1/projects', { name })) as { id: string };
  const { token } = (await accepted(local(), 'POST', '/v1/me/tokens', { name, projects: [id] })) as { token: string };
  const bot = (await accepted({ url: local().url, token }, 'POST', '/v1/bots', { name: 'Planner' })) as { id: string };
  const key = (await accepted(local(), 'POST', '/v1/api-keys', { name, scopes: ['me.read', 'me.change'], projects: [id] })) as { key: string };
  await accepted({ url: local().url, token: key.key }, 'PATCH', '/v1/me/settings', { expectedVersion: 0, defaultBot: null });
  const uuid = (kind: 'organization' | 'project' | 'member' | 'bot', text: string): string => fromPublicId(kind, text)!;
  return {
    id,
    organizationId: uuid('organization', local().organizationId),
    projectId: uuid('project', id),
    memberId: uuid('member', local().memberId),
    botId: uuid('bot', bot.id),
  };
}

/** Another organization, with nothing but what a purge could reach. */
async function newOrganization(): Promise<Filled> {
  const [row] = (
    await outside.query<Filled>(`select gen_random_uuid() as "organizationId", gen_random_uuid() as "projectId", gen_random_uuid() as "memberId", gen_random_uuid() as "botId"`)
  ).rows;
  const { organizationId, projectId, memberId, botId } = row!;
  await outside.query(`insert into organization (id, name) values ($1, 'Other')`, [organizationId]);
  await outside.query(`insert into project (organization_id, id, name) values ($1, $2, 'Default')`, [organizationId, projectId]);
  await outside.query(`insert into member (organization_id, id, name, role) values ($1, $2, 'Olga', 'owner')`, [organizationId, memberId]);
  await outside.query(`insert into bot (organization_id, project_id, id, owner_id, name, max_steps) values ($1, $2, $3, $4, 'Planner', 10)`, [
    organizationId,
    projectId,
    botId,
    memberId,
  ]);
  return row!;
}

const putObjects = async ({ organizationId, projectId }: Filled, count: number): Promise<void> => {
  for (let each = 0; each < count; each += 1) await store.put(`${organizationId}/${projectId}/${each % 7}/${each}`, Buffer.from('x'));
};

const arm = (point: string): Promise<void> => writeFile(armed(), `${point} ${Math.random()}`);

/** Waits for a process to stop at the point that is armed, arms the next before another takes the work over, and starts it again. */
async function killed(next: string | null): Promise<string> {
  const node = await Promise.race([...servers].map(([name, { exited }]) => exited.then(() => name)));
  if (next !== null) await arm(next);
  servers.delete(node);
  servers.set(node, await places.get(node)!.start());
  return node;
}

test('a project with 10,000 chats, whose purge is killed three times: everything of it goes, is counted once, and nothing else is touched', async () => {
  const [gone, neighbour, stranger] = [await newProject('Gone'), await newProject('Neighbour'), await newOrganization()];
  await fillProject(outside, gone, chats);
  await fillProject(outside, neighbour, 300);
  await fillProject(outside, stranger, 300);
  await putObjects(gone, objects);
  await putObjects(neighbour, 10);
  await eventually(async () => (await outside.query('select 1 from product_event_inbox')).rowCount === 0);
  const before = await countProject(outside, gone);
  expect(Object.entries(before).filter(([, count]) => count >= chats / 10).length).toBeGreaterThanOrEqual(18);
  const others = async () => [
    await hashRows(outside, 'project_id', neighbour.projectId),
    await hashRows(outside, 'organization_id', stranger.organizationId),
    await countProject(outside, neighbour),
  ];
  const untouched = await others();
  expect(await rememberProject(world.outside, gone.projectId)).toBeGreaterThan(6 * chats);

  await arm('phase:ended:RemoveObjects#2');
  const began = performance.now();
  const { purge } = (await accepted(local(), 'DELETE', `/v1/projects/${gone.id}?expected=1`)) as { purge: string };
  const kills = [await killed('call:before-send#2'), await killed('phase:ended:PurgeRows#4'), await killed('phase:ended:PurgeRows#9'), await killed(null)];
  const receipt = await eventually(
    () => accepted(local(), 'GET', `/v1/organization/project-purges/${purge}`) as Promise<{ state: string; rows: Record<string, number>; objectsRemoved: number }>,
    ({ state }) => state === 'completed',
    300_000,
  );
  console.info(`killed ${kills.join(', ')}; ${Object.values(receipt.rows).reduce((sum, rows) => sum + rows, 0)} rows in ${Math.round((performance.now() - began) / 1000)} s`);

  expect(Object.entries(await countProject(outside, gone)).filter(([, count]) => count > 0)).toEqual([]);
  expect(receipt.rows).toEqual(before);
  expect(receipt.objectsRemoved).toBe(objects);
  expect((await store.list(`${gone.organizationId}/${gone.projectId}/`, { after: null, limit: 10 })).keys).toEqual([]);
  expect((await store.list(`${neighbour.organizationId}/${neighbour.projectId}/`, { after: null, limit: 100 })).keys).toHaveLength(10);
  expect(await tracesOfProject(world.outside)).toEqual({ 'audit_entry.target_id': 3, 'execution.subject_id': 1, 'project_purge.id': 1 });
  expect(await others()).toEqual(untouched);
  const [work] = await world.rows(`select state, generation from execution where service = 'projects'`);
  expect(work).toMatchObject({ state: 'completed' });
  expect(work.generation).toBeGreaterThan(3);
});

test('one table that the purge leaves out is found by the same looks', async () => {
  const project = await newProject('Left');
  await fillProject(outside, project, 20);
  await rememberProject(world.outside, project.projectId);
  // As if a migration had forgotten to say where the column leads.
  await outside.query(`comment on column token_reservation.execution_id is null`);
  const before = await countProject(outside, project);
  const { purge } = (await accepted(local(), 'DELETE', `/v1/projects/${project.id}?expected=1`)) as { purge: string };
  await eventually(
    () => accepted(local(), 'GET', `/v1/organization/project-purges/${purge}`) as Promise<{ state: string }>,
    ({ state }) => state === 'completed',
    120_000,
  );
  expect(before['token_reservation']).toBeUndefined();
  expect(await tracesOfProject(world.outside)).toMatchObject({ 'token_reservation.execution_id': 2 });
});
