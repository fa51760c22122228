import { isResponse, shownContent } from './shown-item.js';
import type { ItemContent } from './items.js';

const question: ItemContent = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why?' }] };
const answer: ItemContent = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] };
const summary = [{ type: 'summary_text', text: 'Thinking' }] as const;
const call: ItemContent = { type: 'function_call', callId: 'c', name: 'look', arguments: '{}' };
const output: ItemContent = { type: 'function_call_output', callId: 'c', status: 'completed', output: 'seen' };

test.each<[string, ItemContent, ItemContent]>([
  ['a message as it stands', answer, answer],
  ['a call as it stands', call, call],
  ['reasoning without what only its provider reads', { type: 'reasoning', summary, provider: 'anthropic', providerData: { signature: 's' } }, { type: 'reasoning', summary }],
  ['a result without what only the model reads', { ...output, modelOutput: [{ type: 'text', text: 'long' }] }, output],
])('clients see %s', (_, content, shown) => {
  expect(shownContent(content)).toEqual(shown);
});

test.each([
  ['a question', question, false],
  ['an answer', answer, true],
  ['reasoning', { type: 'reasoning', summary }, true],
  ['a call', call, true],
  ['a result', output, false],
] as [string, ItemContent, boolean][])('%s belongs to the response: %p', (_, content, expected) => {
  expect(isResponse(content)).toBe(expected);
});
