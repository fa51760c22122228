import { setTimeout as pause } from 'node:timers/promises';
import { openSse } from '@test/integration/executions/sse-client.js';
import { accepted, request, scriptedModel, upTo, type Receipt, type ServerWorld } from '@test/recovery/server/server-world.js';
import type { RecordedRequest, ScriptedAnswer } from '@test/support/scripted-provider.js';
import type { LocalIdentity, ServerRun } from '@test/support/server-process.js';

/** What a reader on one server saw of a turn that was sent to another, from the sending to the end of its stream. */
type SeenTurn = { readonly executionId: string; readonly ms: number; readonly sequences: readonly number[]; readonly end: string };

export type TurnLoad = {
  /** Sends no more, and waits until every turn has ended for its reader. */
  stop(): Promise<readonly SeenTurn[]>;
};

/** Each turn calls a tool, then answers in a few pieces. */
export function callAToolAndAnswer({ body }: RecordedRequest): ScriptedAnswer {
  const input = body['input'] as { readonly type?: string; readonly role?: string }[];
  const isAnswered = input.slice(input.findLastIndex(({ role }) => role === 'user')).some(({ type }) => type === 'function_call_output');
  if (isAnswered) return { text: ['Some ', 'words ', 'of an answer.'], pauseMs: 20 };
  return { calls: [{ id: 'call_only', name: 'openbot_todos', arguments: JSON.stringify({ items: [{ id: 'one', content: 'The only thing', status: 'done' }] }) }] };
}

/** As a client does it: the same command until one has answered. */
async function send({ url, token }: LocalIdentity, bot: string, commandKey: string): Promise<Receipt> {
  for (;;) {
    const answer = await request({ url, token }, 'POST', `/v1/bots/${bot}/messages`, { input: 'Please', commandKey }).catch(() => null);
    if (answer?.status === 202) return answer.body as Receipt;
    if (answer && answer.status !== 503) throw new Error(`${answer.status} ${answer.text}`);
    await pause(50);
  }
}

/** To the end of the log, with another stream from the cursor where one breaks off. */
async function readToTheEnd({ url, token }: LocalIdentity, { executionId }: Receipt): Promise<Pick<SeenTurn, 'sequences' | 'end'>> {
  const sequences: number[] = [];
  for (;;) {
    const stream = await openSse(`${url}/v1/executions/${executionId}/observe?afterSequence=${sequences.at(-1) ?? 0}`, token);
    await stream.ended;
    const frames = stream.frames.filter(({ event }) => event === 'execution');
    sequences.push(...frames.map(({ id }) => Number(id)));
    const last = frames.map(({ data }) => JSON.parse(data) as { readonly body: { readonly _tag: string; readonly state?: string } }).findLast(({ body }) => body._tag === 'State');
    if (last && ['completed', 'failed', 'cancelled', 'interrupted'].includes(last.body.state ?? '')) return { sequences, end: last.body.state ?? '' };
    await pause(50);
  }
}

/** Conversations with a bot of their own each, all the time: sent to one server and read at the next. */
export async function startTurnLoad(servers: readonly ServerRun[], conversations: number, name: string): Promise<TurnLoad> {
  const seen: SeenTurn[] = [];
  let stopped = false;
  const at = (index: number): LocalIdentity => servers[index % servers.length]!.local;
  const bots = await Promise.all(
    upTo(conversations).map((n) => accepted(at(0), 'POST', '/v1/bots', { name: `${name} ${n}`, model: scriptedModel }) as Promise<{ readonly id: string }>),
  );
  const converse = async (bot: string, first: number): Promise<void> => {
    for (let turn = first; !stopped; turn += 1) {
      const began = performance.now();
      const receipt = await send(at(turn), bot, `${name}-${bot}-${turn}`);
      const read = await readToTheEnd(at(turn + 1), receipt);
      seen.push({ executionId: receipt.executionId, ms: performance.now() - began, ...read });
    }
  };
  const running = Promise.all(bots.map(({ id }, n) => converse(id, n)));
  return {
    stop: async () => {
      stopped = true;
      await running;
      return seen;
    },
  };
}

/** Load for a while, with something that happens meanwhile. */
export async function turnsDuring(servers: readonly ServerRun[], conversations: number, name: string, meanwhile: () => Promise<unknown>): Promise<readonly SeenTurn[]> {
  const load = await startTurnLoad(servers, conversations, name);
  await meanwhile();
  return load.stop();
}

export function latency(seen: readonly SeenTurn[]): { readonly turns: number; readonly p50: number; readonly p95: number; readonly max: number } {
  const sorted = seen.map(({ ms }) => ms).sort((a, b) => a - b);
  const part = (share: number): number => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { turns: sorted.length, p50: part(0.5), p95: part(0.95), max: part(1) };
}

/** Every reader saw every event once and in order, and nothing is left, doubled or repeated in the store. */
export async function expectAllEnded(world: ServerWorld, seen: readonly SeenTurn[]): Promise<void> {
  for (const turn of seen) expect(turn).toEqual({ ...turn, end: 'completed', sequences: upTo(turn.sequences.length) });
  expect(await world.rows(`select id, state from execution where member_id is not null and (ended_at is null or owner is not null or state <> 'completed')`)).toEqual([]);
  expect(await world.rows('select execution_id from execution_event group by execution_id having max(sequence) <> count(*)')).toEqual([]);
  const [stored] = await world.rows(
    `select (select count(*)::int from execution where workflow = 'turn') as turns, (select count(*)::int from chat_item) as items, (select sum(todos_version)::int from chat) as effects`,
  );
  // The question, the call, its result and the answer of each turn; a tool that wrote a list once, and an end that put it away.
  expect(stored).toEqual({ turns: seen.length, items: 4 * seen.length, effects: 2 * seen.length });
  // Nobody died: no call was lost, so none was repeated.
  expect(await world.rows(`select execution_id, step, name from execution_call where attempt > 1 or state <> 'succeeded'`)).toEqual([]);
  expect(world.provider.requests).toHaveLength(2 * seen.length);
}
