import fc from 'fast-check';
import type { ItemContent } from './items.js';
import { isDeeperThan, maxNesting, storableItem, storableValue } from './storable-item.js';

function nested(levels: number): unknown {
  let value: unknown = 'end';
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { in: value };
  return value;
}

test('every string and key of an item is storable, the other values stay', () => {
  const item: ItemContent = {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'a\0' }],
    provider: 'p',
    providerData: { 'k\0': ['\uD83D', 1, null, true], when: new Date(0) },
  };
  expect(storableItem(item)).toEqual({
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'a\uFFFD' }],
    provider: 'p',
    providerData: { 'k\uFFFD': ['\uFFFD', 1, null, true], when: new Date(0) },
  });
});

test('JSON without unstorable characters comes back equal', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value = JSON.parse(json.replace(/\\u0000|\\ud[89a-f]../gi, '')) as unknown;
      expect(storableValue(value)).toEqual(value);
    }),
  );
});

test('a key __proto__ stays a key and changes no prototype', () => {
  const value = storableValue(JSON.parse('{"__proto__": {"admin": true}}')) as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true}}');
});

test.each([
  ['at the limit', maxNesting, false],
  ['one beyond it', maxNesting + 1, true],
  ['far beyond the stack', 200_000, true],
])('nesting %s', (_where, levels, deeper) => {
  expect(isDeeperThan(nested(levels), maxNesting)).toBe(deeper);
  const stored = JSON.stringify(storableValue(nested(levels)));
  expect(stored.includes('"end"')).toBe(!deeper);
});
