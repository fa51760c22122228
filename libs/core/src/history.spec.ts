import fc from 'fast-check';
import type { FunctionCall, FunctionCallOutput, ItemContent, ModelOutputPart } from '@domain/chats/items.js';
import { estimateTokens, historyFor } from './history.js';

const asks = (text: string): ItemContent => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const says = (text: string): ItemContent => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
const thinks = (provider?: string): ItemContent => ({ type: 'reasoning', summary: [], ...(provider ? { provider, providerData: { signature: 's' } } : {}) });
const call = (callId: string, args = '{}'): FunctionCall => ({ type: 'function_call', callId, name: 'f', arguments: args });
const output = (callId: string, text: string, modelOutput?: ModelOutputPart[]): FunctionCallOutput => ({
  type: 'function_call_output',
  callId,
  status: 'completed',
  output: text,
  ...(modelOutput ? { modelOutput } : {}),
});
const missing = (callId: string) => ({ type: 'function_call_output', callId, status: 'failed', output: 'No result of this call was saved. It may or may not have run.' });

test.each<[rule: string, items: ItemContent[], history: object[]]>([
  [
    'a conversation in order stays as it is',
    [asks('a'), thinks('p'), says('b'), call('1'), output('1', 'r'), says('c')],
    [asks('a'), thinks('p'), says('b'), call('1'), output('1', 'r'), says('c')],
  ],
  ['outputs follow in the order of the calls', [call('1'), call('2'), output('2', 'b'), output('1', 'a')], [call('1'), call('2'), output('1', 'a'), output('2', 'b')]],
  ['an input between a call and its output comes after both', [call('1'), asks('steer'), output('1', 'a')], [call('1'), output('1', 'a'), asks('steer')]],
  ['a call without an output gets a failed one', [call('1'), call('2'), output('1', 'a'), asks('next')], [call('1'), call('2'), output('1', 'a'), missing('2'), asks('next')]],
  ['also at the end', [asks('a'), call('1')], [asks('a'), call('1'), missing('1')]],
  ['an output without a call is left out', [output('1', 'a'), asks('b')], [asks('b')]],
  ['and a second output of one call', [call('1'), output('1', 'a'), output('1', 'b')], [call('1'), output('1', 'a')]],
  ['an id used again in a later step is made unique', [call('1'), output('1', 'a'), call('1'), output('1', 'b')], [call('1'), output('1', 'a'), call('1_2'), output('1_2', 'b')]],
  ['an id used twice in one step too', [call('1'), call('1'), output('1', 'a'), output('1', 'b')], [call('1'), call('1_2'), output('1', 'a'), output('1_2', 'b')]],
  ['a made id meets a real one', [call('1'), call('1'), call('1_2')], [call('1'), call('1_2'), call('1_2_2'), missing('1'), missing('1_2'), missing('1_2_2')]],
  [
    'an output goes to the latest step that used its id',
    [call('1'), asks('next'), call('1'), output('1', 'b')],
    [call('1'), missing('1'), asks('next'), call('1_2'), output('1_2', 'b')],
  ],
  ['an id that no provider would take', [call('é:1'), output('é:1', 'a'), call('')], [call('__1'), output('__1', 'a'), call('call'), missing('call')]],
  [
    'a name that no provider would take',
    [{ ...call('1'), name: 'multi.é tool' }, output('1', 'a'), { ...call('2'), name: '' }, { ...call('3'), name: 'n'.repeat(90) }],
    [{ ...call('1'), name: 'multi___tool' }, output('1', 'a'), { ...call('2'), name: 'unnamed' }, { ...call('3'), name: 'n'.repeat(64) }, missing('2'), missing('3')],
  ],
  ['reasoning of another provider is left out', [thinks('p'), thinks('q'), thinks()], [thinks('p'), thinks()]],
  [
    'text for the model takes the place of the output',
    [
      call('1'),
      output('1', 'for people', [
        { type: 'text', text: 'for' },
        { type: 'text', text: 'the model' },
      ]),
    ],
    [call('1'), output('1', 'for\nthe model')],
  ],
  ['an empty modelOutput does so too', [call('1'), output('1', 'for people', [])], [call('1'), output('1', '')]],
  ['malformed arguments are wrapped', [call('1', '{"a": '), output('1', 'bad')], [call('1', '{"unreadable_arguments":"{\\"a\\": "}'), output('1', 'bad')]],
  ['so are arguments that are no object', [call('1', '[1]'), output('1', 'bad')], [call('1', '{"unreadable_arguments":"[1]"}'), output('1', 'bad')]],
  ['no arguments are an empty object', [call('1', ''), output('1', 'a')], [call('1', '{}'), output('1', 'a')]],
  ['well-formed arguments stay byte for byte', [call('1', '{ "a" : 1.0 }'), output('1', 'a')], [call('1', '{ "a" : 1.0 }'), output('1', 'a')]],
  ['but for escapes that nobody can store', [call('1', '{ "a" : "\\u0000\\uD83D" }'), output('1', 'a')], [call('1', '{"a":"\uFFFD\uFFFD"}'), output('1', 'a')]],
])('%s', (_rule, items, history) => {
  expect(historyFor('p', items)).toEqual(history);
});

test('files for the model are replayed as saved; the output names them for adapters that cannot send them', () => {
  const parts: ModelOutputPart[] = [
    { type: 'text', text: 'A chart:' },
    { type: 'file', mediaType: 'image/png', name: 'chart.png', base64: 'AAAA' },
  ];
  expect(historyFor('p', [call('1'), output('1', 'for people', parts)])[1]).toEqual(output('1', 'A chart:\n[File chart.png (image/png)]', parts));
});

const anyId = fc.constantFrom('a', 'b', 'a_2', '', 'é', 'x'.repeat(80));
const anyArguments = fc.constantFrom('{}', '', '{"x": 1}', '[', 'null');
const anyItem: fc.Arbitrary<ItemContent> = fc.oneof(
  fc.constant(asks('q')),
  fc.constant(says('t')),
  fc.constantFrom(thinks('p'), thinks('q'), thinks()),
  fc.tuple(anyId, anyArguments).map(([id, args]) => call(id, args)),
  fc.tuple(anyId, fc.nat()).map(([id, n]) => output(id, `result ${n}`)),
);
const anyItems = fc.array(anyItem, { maxLength: 30 });

/** What providers demand: each run of calls is followed by exactly its outputs, in order; ids are unique; arguments are objects. */
function expectWellPaired(history: readonly ItemContent[]) {
  const ids = new Set<string>();
  const owed: string[] = [];
  for (const item of history) {
    if (item.type === 'function_call') {
      expect(ids).not.toContain(item.callId);
      expect(item.callId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(JSON.stringify(JSON.parse(item.arguments))).toMatch(/^\{/);
      ids.add(item.callId);
      owed.push(item.callId);
    } else if (item.type === 'function_call_output') {
      expect(item.callId).toBe(owed.shift());
    } else if (item.type === 'message' && item.role === 'user') {
      expect(owed).toEqual([]);
    }
  }
  expect(owed).toEqual([]);
}

test('whatever was saved, the history is well paired', () => {
  fc.assert(fc.property(anyItems, (items) => expectWellPaired(historyFor('p', items))));
});

test('nothing but foreign reasoning and outputs is ever lost, and no output is invented for a call that has one', () => {
  fc.assert(
    fc.property(anyItems, (items) => {
      const history = historyFor('p', items);
      const kept = (list: readonly ItemContent[]) =>
        list.filter((item) => item.type !== 'function_call_output' && !(item.type === 'reasoning' && item.provider === 'q')).map((item) => item.type);
      expect(kept(history)).toEqual(kept(items));
      const real = history.filter((item) => item.type === 'function_call_output' && item.status === 'completed');
      const saved = items.filter((item) => item.type === 'function_call_output');
      expect(saved.map((item) => item.output)).toEqual(expect.arrayContaining(real.map((item) => (item as FunctionCallOutput).output)));
      expect(real.length).toBeLessThanOrEqual(saved.length);
    }),
  );
});

test('the history of whole steps is a prefix of every longer history', () => {
  const anyStep = fc
    .array(fc.tuple(anyId, anyArguments), { maxLength: 4 })
    .map((calls) => [says('t'), ...calls.map(([id, args]) => call(id, args)), ...calls.map(([id], n) => output(id, `${n}`))]);
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 6 }), fc.nat(6), (steps, count) => {
      const some = historyFor('p', steps.slice(0, count).flat());
      expect(historyFor('p', steps.flat()).slice(0, some.length)).toEqual(some);
    }),
  );
});

test('four characters of JSON are a token', () => {
  expect(estimateTokens('')).toBe(1);
  expect(estimateTokens('abcdef')).toBe(2);
  expect(estimateTokens([asks('a')])).toBe(Math.ceil(JSON.stringify([asks('a')]).length / 4));
});
