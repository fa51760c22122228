import { callsOf, type Model, type ModelRequest } from '@core/model.js';
import type { ItemContent } from '@domain/chats/items.js';
import { simulatedModel } from '@contexts/models/development/simulated-models.js';
import { ask, drain, failureOf, finishOf, keepsTheModelPort, textOf, type Situation, type Subject } from './conformance.js';

const named = (id: string): Model => simulatedModel(id)!;

const situations: Record<Situation, readonly [model: string, text: string]> = {
  text: ['mock-text', 'Guten Tag'],
  calls: ['mock-tools', 'Plan something'],
  limited: ['mock-fail', 'limited, please'],
  unavailable: ['mock-fail', '{"fail":"unavailable"}'],
  rejected: ['mock-fail', 'fail'],
  interrupted: ['mock-fail', 'be interrupted'],
  endless: ['mock-slow', '{"delayMs":5,"deltas":10000}'],
};

/** One model of the suite, which hands each request to the simulated one that has the situation. */
function subject(): Subject {
  let met: Model = named('mock-text');
  let open = 0;
  const model: Model = {
    ...met,
    async *stream(request, signal) {
      open += 1;
      try {
        yield* met.stream(request, signal);
      } finally {
        open -= 1;
      }
    },
  };
  return {
    model,
    meet(situation) {
      const [id, text] = situations[situation];
      met = named(id);
      return ask(text);
    },
    released: async () => expect(open).toBe(0),
  };
}

let current: Subject;
beforeEach(() => {
  current = subject();
});

describe('the development provider keeps the port', () => keepsTheModelPort(() => current));

const follow = async (id: string, first: ModelRequest): Promise<ItemContent[][]> => {
  const steps: ItemContent[][] = [];
  let history = first.history;
  for (let step = 0; step < 10; step += 1) {
    const { items } = finishOf(await drain(named(id), { ...first, history }));
    steps.push([...items]);
    const calls = callsOf(items);
    if (calls.length === 0) return steps;
    history = [...history, ...items, ...calls.map(({ callId }) => ({ type: 'function_call_output', callId, status: 'completed', output: 'ok' }) as const)];
  }
  throw new Error('the model does not come to an end');
};

test('mock-text quotes the last words of the person', async () => {
  const history = [...ask('first').history, ...ask('Übermorgen, bitte').history];
  expect(textOf(await drain(named('mock-text'), ask('', { history })))).toContain('“Übermorgen, bitte”');
});

test('mock-tools works off two todos and answers', async () => {
  const steps = await follow('mock-tools', ask('Plan my day'));
  expect(steps.slice(0, -1).map((items) => callsOf(items)[0]!.callId)).toEqual(['call_1', 'call_2', 'call_3']);
  const statuses = steps.slice(0, -1).map((items) => (JSON.parse(callsOf(items)[0]!.arguments) as { items: { status: string }[] }).items.map(({ status }) => status));
  expect(statuses).toEqual([
    ['in_progress', 'pending'],
    ['done', 'in_progress'],
    ['done', 'done'],
  ]);
  expect(JSON.stringify(steps.at(-1))).toContain('Plan my day');
});

test('mock-tools goes on with its plan when a notice comes between', async () => {
  const history = [...ask('Plan').history, ...finishOf(await drain(named('mock-tools'), ask('Plan'))).items, ...ask('[OpenBot] Two todos are open.').history];
  const [call] = callsOf(finishOf(await drain(named('mock-tools'), ask('', { history }))).items);
  expect(call!.arguments).toContain('"read","content":"Read the request","status":"done"');
});

test('mock-tools makes the calls that the text names, in one step, and tells their results', async () => {
  const steps = await follow('mock-tools', ask('Please: {"calls":[{"name":"a","arguments":{"x":1}},{"name":"b","arguments":{}}]}'));
  expect(callsOf(steps[0]!).map(({ name, arguments: text }) => [name, text])).toEqual([
    ['a', '{"x":1}'],
    ['b', '{}'],
  ]);
  expect(steps).toHaveLength(2);
  expect(JSON.stringify(steps[1])).toContain('completed ok | completed ok');
});

test('mock-slow takes the numbers of its text', async () => {
  const parts = await drain(named('mock-slow'), ask('{"delayMs":1,"deltas":7}'));
  expect(parts.filter(({ type }) => type === 'text')).toHaveLength(7);
});

test('mock-fail names its time', async () => {
  expect(failureOf(await drain(named('mock-fail'), ask('{"fail":"limited","retryAfterMs":250}')))).toMatchObject({ kind: 'limited', retryAfterMs: 250, status: 429 });
});

test('no other name is a model', () => {
  expect(['mock-none', 'toString', '__proto__', ''].map(simulatedModel)).toEqual([null, null, null, null]);
});
