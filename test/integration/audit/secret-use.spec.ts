import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import type { Caller } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';
import { entriesOf, projectOf, startAuditApp, type AuditApp, type ShownEntry } from './audit-app.js';

let world: AuditApp;
let provider: ScriptedProvider;
let owner: Caller;
let project: string;

beforeAll(async () => {
  [world, provider] = await Promise.all([startAuditApp(), ScriptedProvider.start()]);
  owner = await world.app.createTenant();
  project = await projectOf(owner);
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await world.close();
  await provider.close();
});

const usage = { input: 1, output: 1 };
const made = async (path: string, body: object): Promise<string> => (await owner.call('POST', path, body)).body['id'] as string;
const connect = (more: object) => made('/v1/model-connections', { kind: 'openai-compatible', name: `C ${Math.random()}`, baseUrl: provider.url, models: [{ id: 'm-1' }], ...more });

/** Sends a message; `ended` answers the execution's id once it has. */
async function send(bot: string): Promise<{ readonly id: string; ended(): Promise<string> }> {
  const { body } = await owner.call('POST', `/v1/bots/${bot}/messages`, { input: 'Hello', commandKey: `k ${Math.random()}` });
  const id = body['executionId'] as string;
  const stateOf = async (): Promise<ExecutionState> => (await owner.call('GET', `/v1/executions/${id}`)).body['state'] as ExecutionState;
  const ended = async (): Promise<string> => {
    expect(await eventually(stateOf, hasEnded, 30_000)).toBe('completed');
    return id;
  };
  return { id, ended };
}

async function uses(connection: string): Promise<ShownEntry[]> {
  await world.linked();
  return (await entriesOf(owner, `/v1/projects/${project}/audit`)).filter(({ action, target }) => action === 'secret.used' && target === connection);
}

test('a turn tells that it uses the key of a connection before the model is asked, and once, however many steps it has', async () => {
  const connection = await connect({ apiKey: 'its-own-key' });
  const bot = await made('/v1/bots', { name: 'Planner', model: { provider: connection, model: 'm-1' } });
  let release: () => void = () => undefined;
  const until = new Promise<void>((free) => (release = free));
  provider.answer({ calls: [{ id: 'c1', name: 'openbot_todos', arguments: '{}' }], usage, until }, { text: ['Done'], usage });
  const first = await send(bot);
  await provider.request(1);
  expect(await uses(connection)).toMatchObject([
    { outcome: 'done', project, actor: { kind: 'service', service: 'turn', onBehalfOf: owner.memberId, member: null }, detail: { execution: first.id, revision: 1 } },
  ]);
  release();
  await first.ended();
  expect(provider.requests).toHaveLength(2);
  expect(await uses(connection)).toHaveLength(1);

  provider.answer({ text: ['Done'], usage }, { text: ['Done'], usage });
  const second = await (await send(bot)).ended();
  await owner.call('PATCH', `/v1/model-connections/${connection}`, { expected: 1, apiKey: 'another-key' });
  const third = await (await send(bot)).ended();
  expect((await uses(connection)).map(({ detail }) => detail)).toEqual([
    { execution: first.id, revision: 1 },
    { execution: second, revision: 1 },
    { execution: third, revision: 2 },
  ]);
});

test('a connection without a key has no secret that could be used', async () => {
  const connection = await connect({});
  const bot = await made('/v1/bots', { name: 'Planner', model: { provider: connection, model: 'm-1' } });
  provider.answer({ text: ['Done'], usage });
  await (await send(bot)).ended();
  expect(await uses(connection)).toEqual([]);
});
