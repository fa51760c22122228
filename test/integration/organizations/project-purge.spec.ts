import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ok } from '@domain/result.js';
import { ProjectClosed, transact } from '@platform/database/transact.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { FolderStore } from '@platform/objects/folder-store.js';
import { eventually } from '@test/support/eventually.js';
import { rememberProject, tracesOfProject } from '@test/support/project-traces.js';
import { gate, type Person } from '../chats/chat-app.js';
import { startPurgeApp, type Project, type PurgeApp } from './purge-app.js';

let app: PurgeApp;
let folder: string;
let objects: FolderStore;
let owner: Person;
let project: Project;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openbot-objects-'));
  objects = new FolderStore(folder);
  app = await startPurgeApp({ OPENBOT_OBJECTS: folder });
});
beforeEach(async () => {
  app.provider.reset();
  app.provider.whenAsked(() => ({ text: ['Done.'] }));
  owner = await app.person();
  project = await app.project(owner);
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

const rows = async (sql: string, ...values: unknown[]) => (await app.outside.query<Record<string, unknown>>(sql, values)).rows;
let keys = 0;
const send = (by: Person, bot: string) => by.call('POST', `/v1/bots/${bot}/messages`, { input: 'Work', commandKey: `key-${(keys += 1)}` });
const workEnded = () =>
  eventually(
    () => rows('select 1 from execution where project_id = $1 and ended_at is null', project.uuid),
    (open) => open.length === 0,
    30_000,
  );
/** The receipt, the work that wrote it, and what the organization's audit log says of the project: that it was made, and deleted, and is gone. */
const receipt = { 'audit_entry.target_id': 3, 'execution.subject_id': 1, 'project_purge.id': 1 };

test('202: a deleted project is missing at once, and then gone with everything in it; what is the organization’s stays', async () => {
  const inside = await app.inside(owner, project);
  const bot = await app.bot(inside);
  const { body: key } = await owner.call('POST', '/v1/api-keys', { name: 'Program', scopes: ['bots.read', 'me.change', 'me.read'], projects: [project.id] });
  const program = app.as(key.key as string);
  expect((await program('PATCH', '/v1/me/settings', { expectedVersion: 0, defaultBot: null })).status).toBe(200);
  expect((await send(inside, bot)).status).toBe(202);
  await workEnded();
  for (const name of ['a', 'b/c', 'b/d']) await objects.put(project.prefix + name, Buffer.from('x'));
  await objects.put(`${owner.organizationId}/other/a`, Buffer.from('x'));
  const connection = (await owner.call('POST', '/v1/model-connections', { kind: 'openai', name: 'Ours', apiKey: 'sk-test', models: [{ id: 'scripted' }] })).body.id as string;
  expect(await rememberProject(app.outside, project.uuid)).toBeGreaterThan(6);
  expect(Object.keys(await tracesOfProject(app.outside)).length).toBeGreaterThan(15);

  const answer = await app.remove(owner, project);
  const purge = toPublicId('purge', project.uuid);
  expect(answer).toMatchObject({ status: 202, body: { executionId: expect.stringMatching(/^exec_/), commandKey: null, sequence: 1, purge } });
  expect((await owner.call('GET', `/v1/projects/${project.id}`)).status).toBe(404);
  expect((await owner.call('GET', '/v1/projects')).body.items).toHaveLength(1);
  expect((await inside.call('GET', '/v1/me')).status).toBe(401);
  expect((await program('GET', '/v1/me')).status).toBe(401);
  expect((await app.inside(owner, project)).token).toBeUndefined();

  const done = await app.purged(owner, project);
  expect(done).toMatchObject({ id: purge, project: project.id, name: 'Research', requestedBy: owner.memberId, objectsRemoved: 3, objectsFailed: 0, failedObjects: [] });
  expect(done).toMatchObject({ auditLength: 2, auditHash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(done.rows).toMatchObject({ bot: 1, chat: 1, chat_turn: 1, execution: 1, member: 1, member_setting: 1, project_role: 1, feed_position: 1 });
  expect(done.completedAt).toBeGreaterThanOrEqual(done.requestedAt);
  expect(await tracesOfProject(app.outside)).toEqual(receipt);
  expect((await objects.list(project.prefix, { after: null, limit: 10 })).keys).toEqual([]);
  expect((await objects.list(`${owner.organizationId}/other/`, { after: null, limit: 10 })).keys).toHaveLength(1);
  expect((await owner.call('GET', `/v1/model-connections/${connection}`)).status).toBe(200);
  // A key for no other project ends with it.
  expect((await owner.call('GET', '/v1/api-keys')).body.items).toEqual([]);
  expect(await rows('select 1 from credential where id = $1 and revoked_at is not null', fromPublicId('apiKey', key.id as string))).toHaveLength(1);
  const told = await eventually(
    () => rows(`select action, actor_kind, service from audit_entry where target_id = $1 order by sequence`, fromPublicId('apiKey', key.id as string)),
    (entries) => entries.length >= 2,
  );
  expect(told.at(-1)).toEqual({ action: 'key.revoked', actor_kind: 'service', service: 'purge' });
});

test('202: a retry with the same key gets the same receipt, also when the project is gone; with another input it is refused', async () => {
  const answers = await Promise.all(Array.from({ length: 3 }, () => app.remove(owner, project, { key: 'once' })));
  await app.purged(owner, project);
  answers.push(await app.remove(owner, project, { key: 'once' }));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 202, body: { commandKey: 'once' } });
  expect(await app.remove(owner, project, { key: 'once', expected: 2 })).toMatchObject({ status: 409, body: { _tag: 'ExecutionKeyConflict' } });
  expect(await app.remove(owner, project, { key: 'another' })).toMatchObject({ status: 404, body: { _tag: 'ProjectNotFound' } });
  expect(await rows('select 1 from project_purge where id = $1', project.uuid)).toHaveLength(1);
  const told = await eventually(
    () => rows('select action from audit_entry where target_id = $1 order by sequence', project.uuid),
    (entries) => entries.length >= 3,
  );
  expect(told.map(({ action }) => action)).toEqual(['project.created', 'project.purge_requested', 'project.purged']);
});

test('409: a stale revision, the project in which the caller acts, and the last one', async () => {
  expect(await app.remove(owner, project, { expected: 7 })).toMatchObject({ status: 409, body: { _tag: 'ProjectConflict', revision: 1 } });
  expect(await app.remove(await app.inside(owner, project), project)).toMatchObject({ status: 409, body: { _tag: 'ActiveProject' } });
  const id = (await owner.call('GET', '/v1/projects')).body.items[0].id as string;
  const first: Project = { ...project, id };
  expect(await app.remove(owner, first)).toMatchObject({ status: 409, body: { _tag: 'ActiveProject' } });
  expect((await app.remove(owner, project)).status).toBe(202);
  expect(await app.remove(owner, first)).toMatchObject({ status: 409, body: { _tag: 'LastProject' } });
  await app.purged(owner, project);
});

test('the earliest project is deleted by a credential that names another one first', async () => {
  const first: Project = { ...project, id: (await owner.call('GET', '/v1/projects')).body.items[0].id as string };
  const { token } = (await owner.call('POST', '/v1/me/tokens', { name: 'Cleaning', projects: [project.id, first.id] })).body as { token: string };
  expect((await app.as(token)('GET', '/v1/me')).body).toMatchObject({ project: project.id });
  expect(await app.remove({ ...owner, token }, project)).toMatchObject({ status: 409, body: { _tag: 'ActiveProject' } });
  expect((await app.remove({ ...owner, token }, first)).status).toBe(202);
  expect((await owner.call('GET', '/v1/me')).body).toMatchObject({ project: project.id });
});

test('403 for who may not, 404 for who may not know; an auditor reads the receipt, and a member does not', async () => {
  const stranger = await app.person();
  expect(await app.remove(stranger, project)).toMatchObject({ status: 404, body: { _tag: 'ProjectNotFound' } });
  const server = await app.start({ OPENBOT_ROLES: 'api' });
  const [admin, auditor, member] = await Promise.all(
    (['admin', 'auditor', 'member'] as const).map((role) => server.createMember(owner as Parameters<typeof server.createMember>[0], role)),
  );
  expect(await app.remove(admin!, project)).toMatchObject({ status: 403, body: { permission: 'projects.delete' } });
  expect((await app.remove(owner, project)).status).toBe(202);
  await app.purged(owner, project);
  const path = `/v1/organization/project-purges/${toPublicId('purge', project.uuid)}`;
  expect((await auditor!.call('GET', '/v1/organization/project-purges')).body['items']).toMatchObject([{ name: 'Research', state: 'completed' }]);
  expect((await auditor!.call('GET', path)).status).toBe(200);
  expect((await member!.call('GET', '/v1/organization/project-purges')).status).toBe(403);
  expect(await member!.call('GET', path)).toMatchObject({ status: 404, body: { _tag: 'ProjectPurgeNotFound' } });
  expect(await stranger.call('GET', path)).toMatchObject({ status: 404, body: { _tag: 'ProjectPurgeNotFound' } });
});

test('work that goes on is cut, nothing more is sent, and what waits behind it never begins', async () => {
  const inside = await app.inside(owner, project);
  const bot = await app.bot(inside);
  app.provider.whenAsked(() => ({ text: ['a ', 'b '], end: 'hold' }));
  expect((await send(inside, bot)).status).toBe(202);
  const first = await app.provider.request(1);
  const phone = await app.inside(owner, project);
  expect((await send(phone, bot)).status).toBe(202);
  await rememberProject(app.outside, project.uuid);
  expect((await app.remove(owner, project)).status).toBe(202);
  expect(await first.closed).toBe('aborted');
  expect((await app.purged(owner, project)).rows).toMatchObject({ execution: 2, chat_turn: 2 });
  expect(app.provider.requests).toHaveLength(1);
  expect(await tracesOfProject(app.outside)).toEqual(receipt);
});

test('a call whose outcome nobody knows holds up no purge: it is given up and counted', async () => {
  const id = (await rows(`select gen_random_uuid() as id`))[0]!['id'];
  const member = fromPublicId('member', owner.memberId);
  await app.outside.query(
    `insert into execution (id, organization_id, project_id, workflow, workflow_version, member_id, state, cursor) values ($1, $2, $3, 'interrupt', 1, $4, 'outcome_unknown', '{"turnId": null}')`,
    [id, owner.organizationId, project.uuid, member],
  );
  await app.outside.query(
    `insert into execution_call (execution_id, step, name, attempt, organization_id, project_id, generation, kind, safety, provider_key, state) values ($1, 1, 'charge', 1, $2, $3, 1, 'payment', 'unproven', 'k', 'unknown')`,
    [id, owner.organizationId, project.uuid],
  );
  await app.outside.query(
    `insert into resource_lease (id, organization_id, project_id, kind, resource, execution_id, owner, epoch, generation, state) values (gen_random_uuid(), $1, $2, 'computer', 'one', $3, 'gone', 1, 1, 'open')`,
    [owner.organizationId, project.uuid, id],
  );
  await rememberProject(app.outside, project.uuid);
  await app.remove(owner, project);
  expect(await app.purged(owner, project)).toMatchObject({ callsSettled: 1, leasesLeft: 1, rows: { execution: 1, execution_call: 1, resource_lease: 1 } });
  expect(await tracesOfProject(app.outside)).toEqual(receipt);
});

test('requests that were let in before the end and write after it: each is whole and removed, or is told that there is no such project', async () => {
  const inside = await app.inside(owner, project);
  const bots = await Promise.all(Array.from({ length: 4 }, () => app.bot(inside)));
  const sending = Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? inside.call('POST', '/v1/bots', { name: 'Late' }) : send(inside, bots[index % 4]!)));
  const [removed, again] = await Promise.all([sending[5]!.then(() => app.remove(owner, project)), sending[5]!.then(() => app.remove(owner, project))]);
  const answers = await Promise.all(sending);
  expect([removed.status, again.status].sort()).toEqual([202, 404]);
  expect(answers.filter(({ status }) => ![201, 202, 401, 404].includes(status))).toEqual([]);
  await rememberProject(app.outside, project.uuid);
  await app.purged(owner, project);
  expect(await tracesOfProject(app.outside)).toEqual(receipt);
  expect(await rows('select 1 from execution where project_id = $1', project.uuid)).toEqual([]);
});

const waitsForProject = () =>
  eventually(
    () => rows(`select 1 from pg_locks l where l.locktype = 'advisory' and not l.granted and l.database = (select d.oid from pg_database d where d.datname = current_database())`),
    (waiting) => waiting.length > 0,
  );

test('404: a request that was let in before the end begins nothing after it', async () => {
  const inside = await app.inside(owner, project);
  const bot = await app.bot(inside);
  const ending = await app.outside.connect();
  await ending.query('begin');
  await ending.query(`select pg_advisory_xact_lock(hashtextextended('openbot:project:' || $1 || $2, 0))`, [owner.organizationId, project.uuid]);
  const late = send(inside, bot);
  await waitsForProject();
  await ending.query(
    `insert into project_purge (organization_id, id, name, requested_by, requested_with, execution_id) values ($1, $2, 'x', gen_random_uuid(), gen_random_uuid(), gen_random_uuid())`,
    [owner.organizationId, project.uuid],
  );
  await ending.query('commit');
  ending.release();
  expect(await late).toMatchObject({ status: 404, body: { _tag: 'ProjectNotFound' } });
  expect(await rows('select 1 from chat where project_id = $1', project.uuid)).toEqual([]);
  const begun = transact(app.database.api, { organizationId: owner.organizationId, projectId: project.uuid }, () => Promise.resolve(ok(1)));
  await expect(begun).rejects.toThrow(ProjectClosed);
});

test('202: who deletes waits for what began before, and removes it', async () => {
  const [written, finished] = [gate(), gate()];
  const begun = transact(app.database.api, { organizationId: owner.organizationId, projectId: project.uuid }, async (tx) => {
    await tx.query(`insert into bot (organization_id, project_id, id, owner_id, name, max_steps) values ($1, $2, gen_random_uuid(), $3, 'Late', 1)`, [
      owner.organizationId,
      project.uuid,
      fromPublicId('member', owner.memberId),
    ]);
    written.open();
    await finished.opened;
    return ok(null);
  });
  await Promise.race([written.opened, begun]);
  const removing = app.remove(owner, project);
  await waitsForProject();
  finished.open();
  await begun;
  expect((await removing).status).toBe(202);
  expect((await app.purged(owner, project)).rows).toMatchObject({ bot: 1 });
});

test('two projects that are deleted at once by two callers: both go, and never the last', async () => {
  const other = await app.project(owner, 'Studies');
  const first: Project = { ...project, id: (await owner.call('GET', '/v1/projects')).body.items[0].id as string };
  const answers = await Promise.all([app.remove(owner, project), app.remove(await app.inside(owner, other), other), app.remove(owner, other), app.remove(owner, first)]);
  expect(answers.map(({ status, body }) => [status, body._tag])).toEqual([
    [202, undefined],
    [expect.any(Number), expect.anything()],
    [202, undefined],
    [409, expect.any(String)],
  ]);
  await Promise.all([app.purged(owner, project), app.purged(owner, other)]);
  expect((await owner.call('GET', '/v1/projects')).body.items).toMatchObject([{ id: first.id }]);
});

test('a table that is left out is found by the look for traces', async () => {
  const inside = await app.inside(owner, project);
  expect((await send(inside, await app.bot(inside))).status).toBe(202);
  await workEnded();
  await app.outside.query(`comment on column permit.execution_id is null`);
  await app.outside.query(
    `insert into permit (execution_id, step, name, attempt, organization_id, generation, limit_name, number, timeout_ms) select id, 1, 'x', 1, organization_id, 1, 'x', 1, 1 from execution where project_id = $1`,
    [project.uuid],
  );
  await rememberProject(app.outside, project.uuid);
  await app.remove(owner, project);
  await app.purged(owner, project);
  expect(await tracesOfProject(app.outside)).toEqual({ ...receipt, 'permit.execution_id': 1 });
  await app.outside.query(`comment on column permit.execution_id is 'references execution (id)'`);
});
