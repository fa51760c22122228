import { fromPublicId } from '@platform/ids/typeid.js';
import type { RecordedRequest, ScriptedAnswer } from '@test/support/scripted-provider.js';
import { sealingOf } from '@test/support/engine.js';
import { encryptionKey } from '@test/support/server-process.js';
import { accepted, eventsOf, openServerWorld, scriptedModel, textOf, type Receipt } from '../../recovery/server/server-world.js';
import type { Scenario } from './lane.js';
import { startProgramWorker } from './worker.js';

/** What is left of a turn when it is over, as its author and the store see it. */
export type TurnPortrait = {
  readonly execution: string;
  /** Why it failed, as the operator would read it; null for what did not. */
  readonly cause: string | null;
  readonly states: readonly string[];
  readonly items: readonly string[];
  /** By step: what the attempt that counted said. */
  readonly texts: Readonly<Record<string, string>>;
  readonly results: readonly string[];
  readonly todos: unknown;
  readonly usage: readonly string[];
  /** More confirmed usage than attempts. */
  readonly overbilled: boolean;
  readonly calls: readonly string[];
  readonly turn: string;
  readonly gapless: boolean;
};

const usage = { input: 10, output: 5 };
const todos = (status: string): string => JSON.stringify({ items: [{ id: 'one', content: 'The only thing', status }] });
const parts = ['The ', 'answer ', 'comes ', 'in ', 'six ', 'parts.'];

type Content = { readonly type: string; readonly arguments?: string; readonly output?: string };

/** The same for every attempt: two tool calls in the first step, an answer in the second. */
function converse({ body }: RecordedRequest): ScriptedAnswer {
  const input = body['input'] as { readonly type?: string; readonly role?: string }[];
  const outputs = input.slice(input.findLastIndex(({ role }) => role === 'user')).filter(({ type }) => type === 'function_call_output');
  if (outputs.length > 0) return { text: parts, pauseMs: 15, usage };
  const call = (id: string, status: string) => ({ id: `call_${id}`, name: 'openbot_todos', arguments: todos(status) });
  return { calls: [call('first', 'in_progress'), call('second', 'done')], usage };
}

/** Turns of the built program: one process takes messages, two work. Every cell has a bot and a chat of its own. */
export async function openTurnScenario(node: string): Promise<Scenario<TurnPortrait>> {
  const world = await openServerWorld();
  world.provider.whenAsked(converse);
  const api = await (await world.place({ node, env: { OPENBOT_ROLES: 'api' } })).start();
  const { local } = api;
  const env = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: world.provider.url, OPENAI_MODEL: scriptedModel.model, OPENBOT_ENCRYPTION_KEYS: encryptionKey };
  const receipts = new Map<string, Receipt>();

  async function admit(): Promise<string> {
    const bot = (await accepted(local, 'POST', '/v1/bots', { name: 'Disturbed', model: scriptedModel })) as { id: string };
    const receipt = (await accepted(local, 'POST', `/v1/bots/${bot.id}/messages`, { input: 'Please', commandKey: bot.id })) as Receipt;
    const id = fromPublicId('execution', receipt.executionId) ?? '';
    receipts.set(id, receipt);
    return id;
  }

  async function causeOf(id: string): Promise<string> {
    const [record] = await world.rows(`select id, organization_id, category, cause from error_record where execution_id = $1 order by created_at limit 1`, [id]);
    if (!record) return 'no error record';
    const key = await sealingOf(world.database).keyOf(record.organization_id);
    return `${record.category}: ${key.open({ table: 'error_record', record: record.id }, record.cause).toString('utf8')}`;
  }

  async function portrait(id: string): Promise<TurnPortrait> {
    const receipt = receipts.get(id) as Receipt;
    const [execution, events, turn, items, list] = await Promise.all([
      accepted(local, 'GET', `/v1/executions/${receipt.executionId}`),
      eventsOf(local, receipt),
      accepted(local, 'GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}`),
      accepted(local, 'GET', `/v1/chats/${receipt.chat}/items?limit=100`),
      accepted(local, 'GET', `/v1/chats/${receipt.chat}/todos`),
    ]);
    const entries = await world.rows(`select step, name, input_tokens, output_tokens from usage_entry where execution_id = $1 and status = 'confirmed' order by step`, [id]);
    const calls = await world.rows(`select distinct on (step, name) step, name, attempt, state from execution_call where execution_id = $1 order by step, name, attempt desc`, [
      id,
    ]);
    const counted = new Map(calls.map(({ step, name, attempt }) => [`${step}:${name}`, attempt]));
    const texts: Record<string, string> = {};
    for (const { body } of events) {
      if (body._tag === 'Text' && body.attempt === counted.get(`${body.step}:model`)) texts[body.step] = (texts[body.step] ?? '') + body.delta;
    }
    return {
      execution: execution.state,
      cause: execution.failure && (await causeOf(id)),
      states: events.flatMap(({ body }) => (body._tag === 'State' ? [body.state] : [])),
      items: items.items.map(({ seq, content }: { seq: number; content: Content }) => `${seq} ${content.type} ${textOf(content) || content.arguments || content.output}`),
      texts,
      results: events.flatMap(({ body }) => (body._tag === 'ToolResult' ? [`${body.callId} ${body.status}`] : [])),
      todos: { ...list, updatedAt: undefined },
      // An attempt whose process was paused is billed beside the one that followed it.
      usage: [...new Set(entries.map(({ step, name, input_tokens, output_tokens }) => `${step}:${name} ${input_tokens}/${output_tokens}`))],
      overbilled: entries.length > 2 + events.filter(({ body }) => body._tag === 'ModelAttempt' && body.attempt > 1).length,
      calls: calls.map(({ step, name, state }) => `${step}:${name} ${state}`),
      turn: turn.turn.status._tag,
      gapless: events.every(({ sequence }, index) => sequence === index + 1),
    };
  }

  return {
    superuser: world.outside,
    startWorker: (options) => startProgramWorker(world.database, { ...options, env }),
    admit,
    feed: () => Promise.resolve(),
    decide: () => Promise.reject(new Error('a turn of reads and own writes waits for no decision')),
    portrait,
    close: () => world.close(),
  };
}
