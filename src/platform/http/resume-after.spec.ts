import { resumeAfter } from './sse.js';

test.each([
  ['no header: the URL', 4, undefined, 4],
  ['an empty header: the URL', 4, '', 4],
  ['the header goes before the URL', 4, '9', 9],
  ['also when it is smaller', 4, '2', 2],
  ['from the start again', 4, '0', 0],
] as const)('%s', (_, afterUrl, header, expected) => {
  expect(resumeAfter(afterUrl, header, 2_147_483_647)).toBe(expected);
});

test.each(['x', '-1', '1.5', '1e3', ' 1', '2147483648', '99999999999'])('a header of %j is refused by name', (header) => {
  expect(() => resumeAfter(0, header, 2_147_483_647)).toThrow('Last-Event-ID must be an integer');
});
