import * as fc from 'fast-check';
import { InvalidInput } from './invalid-input.js';
import { parseStrictJson } from './strict-json.js';

const refusal = (body: string | Buffer): { accepted?: unknown; field?: string; reason?: string } => {
  try {
    return { accepted: parseStrictJson(Buffer.from(body as string)) };
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    const { field, reason } = error.getResponse() as { field: string; reason: string };
    return { field, reason };
  }
};
const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;

test.each([
  ['white space alone', ' \n', 'body', 'is empty'],
  ['no JSON', 'hello', 'body', 'is not valid JSON: a value is expected'],
  ['a cut body', '{"a":{"b":', 'a.b', 'is not valid JSON: a value is expected'],
  ['a cut string', '{"a":"b', 'a', 'is not valid JSON: a string does not end'],
  ['a cut escape', '{"a":"b\\', 'a', 'is not valid JSON: a string does not end'],
  ['text after the value', '{} {}', 'body', 'is not valid JSON: there is text after the value'],
  ['a comma before the end', '{"a":1,}', 'body', 'is not valid JSON: a key is expected'],
  ['a comma before the end of a list', '{"a":[1,]}', 'a[1]', 'is not valid JSON: a value is expected'],
  ['a missing comma', '{"a":1 "b":2}', 'body', 'is not valid JSON: "," is expected'],
  ['a missing colon', '{"a" 1}', 'a', 'is not valid JSON: ":" is expected'],
  ['single quotes', "{'a':1}", 'body', 'is not valid JSON: a key is expected'],
  ['a leading zero', '{"a":01}', 'body', 'is not valid JSON: "," is expected'],
  ['NaN', '{"a":NaN}', 'a', 'is not valid JSON: a value is expected'],
  ['a raw control character', '{"a":"x\u0001"}', 'a', 'is not valid JSON: a string contains a control character or an unknown escape'],
  ['an unknown escape', '{"a":"\\x41"}', 'a', 'is not valid JSON: a string contains a control character or an unknown escape'],
  ['a byte order mark', '\ufeff{}', 'body', 'is not valid JSON: a value is expected'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'body', 'is not valid UTF-8'],
  ['an overlong encoding', Buffer.from([0x22, 0xc0, 0x80, 0x22]), 'body', 'is not valid UTF-8'],
  ['a surrogate encoded as UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'body', 'is not valid UTF-8'],
  ['a duplicate key', '{"a":1,"a":2}', 'a', 'is given twice'],
  ['a duplicate key in another spelling', '{"a":1,"\\u0061":2}', 'a', 'is given twice'],
  ['a duplicate key far inside', '{"input":[{"x":1},{"content":"a","content":"b"}]}', 'input[1].content', 'is given twice'],
  ['__proto__', '{"__proto__":{"admin":true}}', '__proto__', 'is not allowed as a key'],
  ['__proto__ in another spelling', '{"a":{"\\u005f_proto__":1}}', 'a.__proto__', 'is not allowed as a key'],
  ['constructor', '{"a":[{"constructor":{"prototype":{}}}]}', 'a[0].constructor', 'is not allowed as a key'],
  ['NUL', '{"input":[{"content":"a\\u0000b"}]}', 'input[0].content', 'contains the character NUL'],
  ['NUL in a key', '{"a\\u0000":1}', 'body', 'contains the character NUL'],
  ['the first half of a pair', '{"a":"\\ud83d"}', 'a', 'contains half of a surrogate pair'],
  ['the second half of a pair', '{"a":"\\ude00x"}', 'a', 'contains half of a surrogate pair'],
  ['a pair in the wrong order', '{"a":"\\ude00\\ud83d"}', 'a', 'contains half of a surrogate pair'],
  ['an infinite number', '{"a":1e999}', 'a', 'is a number too large to keep exactly'],
  ['an integer beyond 2^53', '{"a":[9007199254740993]}', 'a[0]', 'is a number too large to keep exactly'],
  ['an endless number', `{"a":-${'9'.repeat(500_000)}}`, 'a', 'is a number too large to keep exactly'],
  ['a key with a space', '{"a b":{"c":1,"c":2}}', '["a b"].c', 'is given twice'],
])('%s is refused', (_, body, field, reason) => expect(refusal(body)).toEqual({ field, reason }));

test('no body is no value: whether one is needed is the route’s rule', () => expect(parseStrictJson(Buffer.alloc(0))).toBeUndefined());

test('10,000 levels are refused, and 64 are not', () => {
  expect(refusal(nested(10_000))).toMatchObject({ reason: 'is nested deeper than 64 levels' });
  expect(refusal('['.repeat(1_000_000))).toMatchObject({ reason: 'is nested deeper than 64 levels' });
  expect(refusal(nested(64))).toMatchObject({ reason: 'is nested deeper than 64 levels' });
  expect(refusal(nested(63))).toHaveProperty('accepted');
});

test('a body of 1 MiB is read in linear time', () => {
  const long = JSON.stringify({ a: '\\"x'.repeat(200_000), b: Array.from({ length: 20_000 }, (_, i) => ({ i })) });
  const started = performance.now();
  expect(refusal(long)).toHaveProperty('accepted');
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('whatever JSON.stringify writes is read as it was', () => {
  const plain = fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify(value));
  const keeps = (text: string): boolean => !/__proto__|constructor|prototype|\\u0000|\\ud[89a-f]/i.test(text) && !/\d{16,}|e\+/.test(text);
  fc.assert(fc.property(plain.filter(keeps), (text) => expect(refusal(text)).toEqual({ accepted: JSON.parse(text) })));
});

test('what JSON.parse refuses is refused, whatever the text', () => {
  const text = fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '1', '-', '.', 'e', 'a', '\\', 'u', ' ', 'true', 'null'), minLength: 1, maxLength: 14 });
  fc.assert(
    fc.property(text, (candidate) => {
      let parses = true;
      try {
        JSON.parse(candidate);
      } catch {
        parses = false;
      }
      const answer = refusal(candidate);
      if (!parses) expect(answer).toHaveProperty('field');
      else if (answer.reason !== undefined) expect(['is given twice', 'is a number too large to keep exactly']).toContain(answer.reason);
    }),
    { numRuns: 5_000 },
  );
});
