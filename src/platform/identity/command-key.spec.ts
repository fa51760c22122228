import { canonicalJson } from './command-key.js';

test.each([
  ['the order of keys', { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
  ['members without a value', { a: 1, b: undefined }, { a: 1 }],
  ['keys that look like numbers', { 10: 1, 9: 2, a: 3 }, { a: 3, 9: 2, 10: 1 }],
])('%s makes no difference', (_, one, other) => expect(canonicalJson(one)).toBe(canonicalJson(other)));

test.each([
  ['the order of a list', [1, 2], [2, 1]],
  ['a text that looks like a number', { a: 1 }, { a: '1' }],
  ['null instead of nothing', { a: null }, {}],
  ['a value that moves into another key', { a: 'b', c: '' }, { a: '', c: 'b' }],
])('%s makes one', (_, one, other) => expect(canonicalJson(one)).not.toBe(canonicalJson(other)));
