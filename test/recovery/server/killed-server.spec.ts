import type { RecordedRequest, ScriptedAnswer } from '@test/support/scripted-provider.js';
import type { ServerPlace, ServerRun } from '@test/support/server-process.js';
import { accepted, endedExecution, eventsOf, itemsOf, openServerWorld, sendMessage, textOf, upTo, type Receipt, type ServerWorld } from './server-world.js';

const todos = (status: string) => JSON.stringify({ items: [{ id: 'one', content: 'The only thing', status }] });
const usage = { input: 10, output: 5 };
const answerDeltas = (request: number): string[] => upTo(8).map((part) => `${request}.${part} `);

/** Two calls in the first step, an answer in the second. Every request gets words of its own, so that joined attempts would show. */
function converse({ body }: RecordedRequest, request: number, holds: boolean): ScriptedAnswer {
  const input = body['input'] as { readonly type?: string; readonly role?: string }[];
  const outputs = input.slice(input.findLastIndex(({ role }) => role === 'user')).filter(({ type }) => type === 'function_call_output');
  if (outputs.length > 0) return { text: answerDeltas(request), pauseMs: 20, usage, end: holds ? 'hold' : 'finish' };
  const call = (id: string, status: string) => ({ id: `call_${id}`, name: 'openbot_todos', arguments: todos(status) });
  return { calls: [call('first', 'in_progress'), call('second', 'done')], usage };
}

/**
 * From the last to the first, so that what a restart has left to do passes none of the points before. `at` counts what the recovery of the turn
 * before passes once more; without one the process is killed from outside as soon as text is in the log.
 */
type Point = {
  readonly name: string;
  readonly at: string | null;
  /** Requests that the provider gets. */ readonly asked: number;
  /** Attempts whose result was lost. */ readonly lost: readonly string[];
};
const points: readonly Point[] = [
  { name: 'before the end, with the last result saved', at: 'phase:saved#3', asked: 2, lost: [] },
  { name: 'before the end, with the last result not saved', at: 'end:before#2', asked: 3, lost: ['2.1'] },
  { name: 'between the tool calls', at: 'phase:ended:ToolStep', asked: 2, lost: [] },
  { name: 'after the result of the first step is saved', at: 'phase:saved#3', asked: 2, lost: [] },
  { name: 'before the model call', at: 'call:before-send#2', asked: 2, lost: ['1.1'] },
  { name: 'while streaming, with text in the log', at: null, asked: 3, lost: ['2.1'] },
];

// Every test starts processes, and a busy machine takes its time for that.
jest.setTimeout(120_000);

let world: ServerWorld;
let place: ServerPlace;
let server: ServerRun;
const armed = (point: Point | undefined): Record<string, string> => (point?.at ? { OPENBOT_DEBUG_POINT: point.at } : {});

beforeAll(async () => {
  world = await openServerWorld();
  // The lease decides nothing here: the same name comes back.
  place = await world.place({ node: 'alone', env: { OPENBOT_LEASE_MS: '10000' } });
  server = await place.start(armed(points[0]));
});
afterAll(() => world.close());

async function killedAt(point: Point): Promise<Receipt> {
  world.provider.reset();
  world.provider.whenAsked((request) => converse(request, world.provider.requests.length, point.at === null && world.provider.requests.length === 2));
  const receipt = await sendMessage(server.local, 'Please');
  if (point.at === null) {
    await world.text(receipt);
    server.signal('SIGKILL');
  }
  expect(await server.exited).toEqual({ code: null, signal: 'SIGKILL' });
  return receipt;
}

test.each(points.map((point, index) => ({ ...point, turn: index, next: points[index + 1] })))(
  'killed $name: a restart completes the turn, and nothing is there twice',
  async ({ turn, next, ...point }) => {
    const receipt = await killedAt(point);
    server = await place.start(armed(next));
    expect(await endedExecution(server.local, receipt)).toMatchObject({ state: 'completed', failure: null });
    expect(world.provider.requests).toHaveLength(point.asked);

    const events = await eventsOf(server.local, receipt);
    expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
    const tagged = (tag: string) => events.map(({ body }) => body).filter(({ _tag }) => _tag === tag);
    expect(tagged('ToolResult').map(({ callId }) => callId)).toEqual(['call_first', 'call_second']);
    expect(tagged('Result')).toHaveLength(1);
    expect(tagged('State').map(({ state }) => state)).toEqual(['queued', 'running', 'completed']);

    const items = await itemsOf(server.local, receipt.chat);
    expect(items.map(({ seq }) => seq)).toEqual(upTo(6 * (turn + 1)));
    const [own, answer] = [items.slice(6 * turn), answerDeltas(point.asked).join('')];
    expect(own.map(({ content }) => content.callId ?? textOf(content))).toEqual(['Please', 'call_first', 'call_second', 'call_first', 'call_second', answer]);
    expect(tagged('Item').map(({ item }) => item.id)).toEqual(own.map(({ id }) => id));

    // Each attempt's text stands alone: the last is the whole answer, and a lost one is the beginning of its own words.
    const isLost = (attempt: string): boolean => point.lost.includes(attempt);
    const textOfAttempt = (attempt: number): string => tagged('Text').filter((body) => body.step === 2 && body.attempt === attempt).map(({ delta }) => delta).join(''); // prettier-ignore
    expect(textOfAttempt(isLost('2.1') ? 2 : 1)).toBe(answer);
    if (isLost('2.1')) expect(answerDeltas(2).join('').startsWith(textOfAttempt(1))).toBe(true);
    if (point.at === null) expect(textOfAttempt(1)).not.toBe('');

    // Two calls, and the end that puts a finished list away: the tool's effect once.
    const [chat] = await world.rows('select todos, todos_version, running_turn_id from chat');
    expect(chat).toEqual({ todos: null, todos_version: 3 * (turn + 1), running_turn_id: null });
    expect(await accepted(server.local, 'GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}`)).toMatchObject({ response: { status: 'completed' } });

    const used = await world.rows(`select step || '.' || attempt as attempt, status, input_tokens, output_tokens from usage_entry where execution_id = $1 order by step, attempt`, [
      world.uuid(receipt),
    ]);
    const lost = point.lost.map((attempt) => ({ attempt, status: 'unknown', input_tokens: null, output_tokens: null }));
    const known = ['1', '2'].map((step) => ({ attempt: `${step}.${isLost(`${step}.1`) ? 2 : 1}`, status: 'confirmed', input_tokens: '10', output_tokens: '5' }));
    expect(used).toEqual([...lost, ...known].sort((a, b) => (a.attempt < b.attempt ? -1 : 1)));
    expect(await world.rows('select id from execution where member_id is not null and (owner is not null or ended_at is null)')).toEqual([]);
  },
);
