import { inputLimits, readMessageInput } from './message-input.js';

const text = (value: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text: value }] });

test.each([
  ['plain text', 'Plan three days in Rome.'],
  ['a message with text', [{ role: 'user', content: 'Plan three days in Rome.' }]],
  ['a message with a text part', [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Plan three days in Rome.' }] }]],
])('%s is the same input', (_, input) => {
  expect(readMessageInput(input)).toEqual({ ok: true, value: [text('Plan three days in Rome.')] });
});

test('messages and parts keep their order', () => {
  const input = [
    { role: 'user', content: 'a' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'b' },
        { type: 'input_text', text: 'c' },
      ],
    },
  ];
  expect(readMessageInput(input)).toMatchObject({ ok: true, value: [text('a'), { content: [{ text: 'b' }, { text: 'c' }] }] });
});

test.each([
  ['nothing', undefined, 'input'],
  ['null', null, 'input'],
  ['a number', 7, 'input'],
  ['an object', {}, 'input'],
  ['empty text', '', 'input'],
  ['long text', 'x'.repeat(inputLimits.textCharacters + 1), 'input'],
  ['U+0000', 'a\0b', 'input'],
  ['half a surrogate pair', 'a\ud800', 'input'],
  ['no messages', [], 'input'],
  ['too many messages', Array.from({ length: inputLimits.messages + 1 }, () => ({ role: 'user', content: 'x' })), 'input'],
  ['text in the list', ['hello'], 'input[0]'],
  [
    'another role',
    [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'x' },
    ],
    'input[1].role',
  ],
  ['another type', [{ type: 'reasoning', role: 'user', content: 'x' }], 'input[0].type'],
  ['an unknown field', [{ role: 'user', content: 'x', name: 'me' }], 'input[0].name'],
  ['a field from the prototype', [JSON.parse('{"role":"user","content":"x","__proto__":{}}')], 'input[0].__proto__'],
  ['no content', [{ role: 'user' }], 'input[0].content'],
  ['empty content', [{ role: 'user', content: [] }], 'input[0].content'],
  ['a part without a type', [{ role: 'user', content: [{ text: 'x' }] }], 'input[0].content[0].type'],
  ['a part with an unknown field', [{ role: 'user', content: [{ type: 'input_text', text: 'x', bold: true }] }], 'input[0].content[0].bold'],
  ['a part without text', [{ role: 'user', content: [{ type: 'input_text' }] }], 'input[0].content[0].text'],
])('%s is refused by name', (_, input, field) => {
  expect(readMessageInput(input)).toMatchObject({ ok: false, failure: { _tag: 'MessageInputInvalid', field } });
});

test.each(['input_image', 'input_file'])('%s names no file of the caller', (type) => {
  expect(readMessageInput([{ role: 'user', content: [{ type, file: 'file_1' }] }])).toEqual({ ok: false, failure: { _tag: 'FileInvalid' } });
});
