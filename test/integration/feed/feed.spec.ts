import { v7 as uuidv7 } from 'uuid';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { openSse } from '../executions/sse-client.js';

type Event = {
  readonly position: number;
  readonly type: string;
  readonly about: string;
  readonly sequence: number;
  readonly workflow: string | null;
  readonly failure: object | null;
};

let database: TestDatabase;
let app: TestApp;
let owner: Caller;
let member: Caller;
let feed: string;
let made: { bot: string; chat: string; execution: string };

const listed = async (caller: Caller, query = ''): Promise<Event[]> => (await caller.call('GET', feed + query)).body['items'] as Event[];
const types = (events: readonly Event[]): string[] => events.map(({ type }) => type);
const projectOf = async (caller: Caller): Promise<string> => ((await caller.call('GET', '/v1/projects')).body['items'] as { id: string }[])[0]!.id;
const createBot = async (caller: Caller, name: string) =>
  (await caller.call('POST', '/v1/bots', { name, model: { provider: 'development', model: 'mock-text' } })).body as { id: string; revision: number };

beforeAll(async () => {
  database = await openTestDatabase();
  app = await startTestApp(database);
  owner = await app.createTenant();
  member = await app.createMember(owner);
  feed = `/v1/projects/${await projectOf(owner)}/events`;
  const bot = await createBot(owner, 'Planner');
  const receipt = (await owner.call('POST', `/v1/bots/${bot.id}/messages`, { input: 'A secret plan', commandKey: 'first' })).body;
  made = { bot: bot.id, chat: String(receipt['chat']), execution: String(receipt['executionId']) };
  await eventually(async () => types(await listed(owner)).includes('execution.completed'));
});
afterAll(async () => {
  await app?.close();
  await database?.close();
});

test('200: what a member did is told once, with ids and without content', async () => {
  const events = await listed(owner);
  expect(events).toMatchObject([
    { type: 'bot.created', about: made.bot, sequence: 1, workflow: null },
    { type: 'chat.created', about: made.chat },
    { type: 'execution.started', about: made.execution, sequence: 1, workflow: 'turn' },
    { type: 'execution.completed', about: made.execution, workflow: 'turn', failure: null },
  ]);
  const { body } = await owner.call('GET', `/v1/executions/${made.execution}`);
  expect(events[3]?.sequence).toBe(body['sequence']);
  expect(JSON.stringify(events)).not.toMatch(/secret|plan/i);
});

test('200: pages go on where the one before ended, and a type is picked out', async () => {
  const first = (await owner.call('GET', `${feed}?limit=3`)).body as { items: Event[]; next: number };
  expect(first.next).toBe(first.items[2]?.position);
  const second = (await owner.call('GET', `${feed}?limit=3&after=${first.next}`)).body;
  expect(types(second['items'] as Event[])).toEqual(['execution.completed']);
  expect(second['next']).toBeNull();
  expect(types(await listed(owner, '?type=chat.created'))).toEqual(['chat.created']);
});

test('200: what others do is theirs, and has its place in the same order', async () => {
  const bot = await createBot(member, 'Private');
  expect((await member.call('DELETE', `/v1/bots/${bot.id}?expected=1`)).status).toBe(204);
  const theirs = await eventually(
    () => listed(member),
    (found) => found.length === 2,
  );
  expect(theirs).toMatchObject([
    { type: 'bot.created', about: bot.id, sequence: 1 },
    { type: 'bot.deleted', about: bot.id, sequence: 2 },
  ]);
  const mine = await listed(owner);
  expect(types(mine)).not.toContain('bot.deleted');
  expect(theirs[0]!.position).toBeGreaterThan(Math.max(...mine.map(({ position }) => position)));
});

test('200: work without a member is told to nobody', async () => {
  const projectId = fromPublicId('project', await projectOf(owner)) ?? '';
  await admit(database, { organizationId: owner.organizationId, projectId }, 'unknown');
  const before = types(await listed(owner)).length;
  await createBot(owner, 'Later');
  await eventually(async () => (await listed(owner)).length === before + 1);
  expect(await listed(owner, '?type=execution.started')).toHaveLength(1);
});

test('404: another project is as a missing one, also to those who have a project there', async () => {
  const stranger = await app.createTenant();
  const missing = await owner.call('GET', `/v1/projects/${toPublicId('project', uuidv7())}/events`);
  expect(missing).toMatchObject({ status: 404, body: { _tag: 'ProjectNotFound' } });
  for (const path of [`/v1/projects/${await projectOf(stranger)}/events`, '/v1/projects/nonsense/events', `/v1/projects/${made.bot}/events`])
    expect((await owner.call('GET', path)).text).toBe(missing.text);
  expect((await owner.call('GET', `/v1/projects/${await projectOf(stranger)}/events/observe`)).text).toBe(missing.text);
});

test('409: a cursor ahead of the feed is told where the feed is', async () => {
  const answer = await owner.call('GET', `${feed}?after=1000`);
  expect(answer).toMatchObject({ status: 409, body: { _tag: 'CursorAhead' } });
  expect((await owner.call('GET', `${feed}?after=${String(answer.body['sequence'])}`)).status).toBe(200);
  expect((await owner.call('GET', `${feed}/observe?after=1000`)).body['_tag']).toBe('CursorAhead');
});

test('200: a stream goes on behind the last event of its client, gets its own alone, and holds no connection', async () => {
  const pool = (database.api.driver as unknown as { master: { totalCount: number; idleCount: number } }).master;
  const [, second, third] = await listed(owner);
  const streams = await Promise.all(Array.from({ length: 20 }, () => openSse(`${app.url}${feed}/observe?after=0`, owner.token, { 'last-event-id': String(second!.position) })));
  const onlyBots = await openSse(`${app.url}${feed}/observe?type=bot.created`, owner.token);
  await createBot(member, 'Not seen');
  const bot = await createBot(owner, 'Seen');
  for (const stream of streams) {
    await eventually(() => stream.frames.some(({ data }) => data.includes(bot.id)));
    const events = stream.frames.map(({ data }) => JSON.parse(data) as Event);
    expect(events).toEqual((await listed(owner)).filter(({ position }) => position > second!.position));
    expect(events[0]).toEqual(third);
    expect(stream.frames.map(({ id, event }) => [id, event])).toEqual(events.map(({ position }) => [String(position), 'feed']));
  }
  await eventually(() => onlyBots.frames.some(({ data }) => data.includes(bot.id)));
  expect(new Set(onlyBots.frames.map(({ data }) => (JSON.parse(data) as Event).type))).toEqual(new Set(['bot.created']));
  await eventually(() => pool.totalCount === pool.idleCount);
  [...streams, onlyBots].forEach((stream) => stream.close());
});

test('a stream ends when its token no longer counts', async () => {
  const token = (await owner.call('POST', '/v1/me/tokens', { name: 'Phone' })).body as { id: string; token: string };
  const stream = await openSse(`${app.url}${feed}/observe`, token.token);
  await eventually(() => stream.frames.length > 0);
  await owner.call('DELETE', `/v1/me/tokens/${token.id}`);
  await stream.ended;
}, 30_000);
