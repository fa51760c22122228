import type { FunctionCall, FunctionCallOutput, ItemContent } from '@domain/chats/items.js';
import { toPrompt, type Dialect } from './prompt.js';

const user = (text: string): ItemContent => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const assistant = (text: string): ItemContent => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
const call = (callId: string, text = '{}'): FunctionCall => ({ type: 'function_call', callId, name: 'look', arguments: text });
const output = (callId: string, text: string, more: Partial<FunctionCallOutput> = {}): FunctionCallOutput => ({
  type: 'function_call_output',
  callId,
  status: 'completed',
  output: text,
  ...more,
});
const chat: Dialect = { api: 'chat', provider: 'here' };
const prompt = (history: readonly ItemContent[], dialect = chat) => toPrompt({ instructions: '', history }, dialect);
const roles = (history: readonly ItemContent[]) => prompt(history).map(({ role }) => role);
const results = (history: readonly ItemContent[], dialect = chat) =>
  prompt(history, dialect).flatMap((message) => (message.role === 'tool' ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : [])) : []));
const inputs = (text: string) => prompt([call('a', text)]).flatMap((message) => (message.role === 'assistant' ? message.content : []));

describe('calls and their outputs', () => {
  test('an output stands right behind its step, also when a message came between', () => {
    expect(roles([user('a'), call('1'), user('steered'), output('1', 'x'), assistant('done')])).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
  });

  test('ids that two steps share find the output of their own step', () => {
    expect(results([call('1'), output('1', 'first'), call('1'), output('1', 'second')])).toEqual([
      { type: 'text', value: 'first' },
      { type: 'text', value: 'second' },
    ]);
  });

  test('a call without an output does not take the one of a later step', () => {
    expect(results([call('1'), user('again'), call('1'), output('1', 'second')])).toEqual([
      { type: 'error-text', value: 'This call has no stored result.' },
      { type: 'text', value: 'second' },
    ]);
  });

  test('an output without a call is left out', () => {
    expect(roles([user('a'), output('1', 'x')])).toEqual(['user']);
  });

  test('a failed output is marked', () => {
    expect(results([call('1'), output('1', 'no', { status: 'failed' })])).toEqual([{ type: 'error-text', value: 'no' }]);
  });
});

describe('arguments', () => {
  test.each([
    ['an object, byte for byte', '{ "a" : 1 }', '{ "a" : 1 }'],
    ['no text', '', {}],
    ['bad JSON', '{"a":', { invalid_arguments: '{"a":' }],
    ['an array', '[1]', { invalid_arguments: '[1]' }],
    ['a string', '"x"', { invalid_arguments: '"x"' }],
    ['a name that parsers refuse', '{"__proto__":{"a":1}}', JSON.parse('{"__proto__":{"a":1}}')],
  ])('%s', (_rule, text, input) => {
    expect(inputs(text)).toEqual([{ type: 'tool-call', toolCallId: 'a', toolName: 'look', input }]);
  });
});

describe('what the model reads of a result', () => {
  const file = (mediaType: string, bytes: string) => ({ type: 'file', mediaType, name: 'f', base64: Buffer.from(bytes).toString('base64') }) as const;
  const png = file('image/png', 'png');
  const zip = file('application/zip', 'zip');
  const history = (parts: FunctionCallOutput['modelOutput'] & object): ItemContent[] => [call('1'), output('1', 'shown to clients', { modelOutput: parts })];

  test('is modelOutput in place of the output', () => {
    expect(results(history([{ type: 'text', text: 'for the model' }]))).toEqual([{ type: 'text', value: 'for the model' }]);
  });

  test('a text file is read as text everywhere', () => {
    expect(results(history([file('text/csv', 'ä,b')]))).toEqual([{ type: 'text', value: 'f (text/csv):\nä,b' }]);
  });

  test.each([
    ['responses', [{ type: 'image-data', data: png.base64, mediaType: 'image/png' }]],
    ['messages', [{ type: 'image-data', data: png.base64, mediaType: 'image/png' }]],
  ] as const)('an image is part of the result: %s', (api, value) => {
    expect(results(history([png]), { api, provider: 'here' })).toEqual([{ type: 'content', value }]);
  });

  test('chat completions get an image in a message behind all results of the step', () => {
    const messages = prompt([call('1'), call('2'), output('1', '', { modelOutput: [png] }), output('2', 'b')]);
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
    expect(messages[2]!.content).toEqual([
      { type: 'text', text: '[OpenBot] Files from the tool results above:' },
      { type: 'file', data: png.base64, mediaType: 'image/png', filename: 'f' },
    ]);
  });

  test.each([
    ['chat', { type: 'text', value: '[f (application/zip) cannot be shown]' }],
    ['messages', { type: 'text', value: '[f (application/zip) cannot be shown]' }],
    ['responses', { type: 'content', value: [{ type: 'file-data', data: zip.base64, mediaType: 'application/zip', filename: 'f' }] }],
  ] as const)('a file that %s may not take is named', (api, expected) => {
    expect(results(history([zip]), { api, provider: 'here' })).toEqual([expected]);
  });
});

describe('reasoning', () => {
  const thought: ItemContent = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], provider: 'here', providerData: { signature: 's' } };
  test.each([
    ['its own provider', { api: 'messages', provider: 'here' }, 1],
    ['another provider', { api: 'messages', provider: 'there' }, 0],
    ['an interface that has none', { api: 'chat', provider: 'here' }, 0],
  ] as const)('%s', (_rule, dialect, count) => {
    const parts = prompt([thought, assistant('a')], dialect).flatMap((message) => (message.role === 'assistant' ? message.content : []));
    expect(parts.filter(({ type }) => type === 'reasoning')).toHaveLength(count);
  });

  test('a step of foreign reasoning alone is left out', () => {
    expect(roles([user('a'), thought, user('b')])).toEqual(['user', 'user']);
  });
});

test('a file that nobody loaded is named', () => {
  const history: ItemContent[] = [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', file: 'file_1' },
      ],
    },
  ];
  expect(prompt(history)).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'text', text: '[image file_1]' },
      ],
    },
  ]);
});

test('a text that shows nothing reaches no provider as such: it would refuse every later turn', () => {
  expect(prompt([user(' \n'), assistant('\t'), user('seen')])).toEqual([
    { role: 'user', content: [{ type: 'text', text: '[blank]' }] },
    { role: 'user', content: [{ type: 'text', text: 'seen' }] },
  ]);
});
