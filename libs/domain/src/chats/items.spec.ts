import { answerText, type ItemContent } from './items.js';

test('an answer is its assistant messages, in order; reasoning, calls and what a person wrote are none of it', () => {
  const items: ItemContent[] = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'One' },
        { type: 'output_text', text: ' two' },
      ],
    },
    { type: 'function_call', callId: 'c', name: 'f', arguments: '{}' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Three' }] },
  ];
  expect(answerText(items)).toBe('One two\n\nThree');
  expect(answerText([])).toBe('');
});
