import { directiveIn } from './directive.js';

test.each([
  ['nothing', 'Hello', {}],
  ['calls with object arguments', 'Do {"calls":[{"name":"a","arguments":{"x":1}}]} now', { calls: [{ name: 'a', arguments: '{"x":1}' }] }],
  ['calls with text arguments, as they stand', '{"calls":[{"name":"a","arguments":"{ bad"}]}', { calls: [{ name: 'a', arguments: '{ bad' }] }],
  ['a call without arguments', '{"calls":[{"name":"a"}]}', { calls: [{ name: 'a', arguments: '{}' }] }],
  ['calls without names', '{"calls":[{"arguments":{}}, 7, null]}', {}],
  ['braces inside strings', '{"fail":"}{","delayMs":3}', { fail: '}{', delayMs: 3 }],
  ['escaped quotes', '{"fail":"a\\"}"}', { fail: 'a"}' }],
  ['an object behind prose with braces', 'a {curly} word {"deltas":2}', { deltas: 2 }],
  ['an open brace', 'never { closed', {}],
  ['values of the wrong type', '{"delayMs":"3","deltas":-1,"fail":1}', {}],
  ['values beyond their bounds', '{"delayMs":999999999,"deltas":999999999}', { delayMs: 60_000, deltas: 10_000 }],
])('%s', (_, text, expected) => {
  expect(directiveIn(text)).toEqual(expected);
});

test('a text of braces is read in no time', () => {
  const start = performance.now();
  directiveIn('{'.repeat(100_000));
  expect(performance.now() - start).toBeLessThan(5_000);
});
