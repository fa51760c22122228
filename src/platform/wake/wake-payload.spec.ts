import { v7 as uuidv7 } from 'uuid';
import { allPayload, idPayloads, readPayload, testPayload } from './wake-payload.js';

const ids = Array.from({ length: 1_000 }, () => uuidv7());

test('any number of ids stays below the limit of a payload, and all of them arrive', () => {
  const payloads = idPayloads('a1b2c3d4e5f6', ids);
  expect(payloads.length).toBeGreaterThan(1);
  for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThan(8_000);
  expect(payloads.map(readPayload).flatMap((read) => (read?.kind === 'ids' ? read.ids : []))).toEqual(ids);
  expect(idPayloads('a', [])).toEqual([]);
});

test('a test and "all" are told apart from ids', () => {
  expect(readPayload(testPayload('a', '7'))).toEqual({ kind: 'test', origin: 'a', token: '7' });
  expect(readPayload(allPayload('a'))).toEqual({ kind: 'all', origin: 'a' });
});

test.each(['', 'ids', 'ids a', 'ids a x', `ids a ${ids[0]},x`, `other a ${ids[0]}`, 'test a', ' ', 'all'])('a stranger says %j: nothing', (text) => {
  expect(readPayload(text)).toBeNull();
});
