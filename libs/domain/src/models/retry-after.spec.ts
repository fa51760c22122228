import { retryAfterMs } from './retry-after.js';

const now = Date.parse('2026-03-01T12:00:00Z');

test.each([
  ['seconds', { 'retry-after': '2' }, 2_000],
  ['a part of a second, rounded up', { 'retry-after': '0.0005' }, 1],
  ['a date', { 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30_000],
  ['a date that has passed', { 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, 0],
  ['milliseconds win over seconds', { 'retry-after': '2', 'retry-after-ms': '1250' }, 1_250],
  ['bad milliseconds leave the seconds', { 'retry-after': '2', 'retry-after-ms': 'soon' }, 2_000],
  ['nothing', {}, null],
  ['words', { 'retry-after': 'soon' }, null],
  ['a negative number', { 'retry-after': '-5' }, null],
  ['an empty header', { 'retry-after': '' }, null],
])('%s', (_, headers, expected) => {
  expect(retryAfterMs(headers as Record<string, string>, now)).toBe(expected);
});
