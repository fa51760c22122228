import { formatTraceparent, parseTraceparent } from './traceparent.js';

const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];

test.each([
  ['a sampled one', `00-${traceId}-${spanId}-01`, 1],
  ['one that is not sampled', `00-${traceId}-${spanId}-00`, 0],
  ['other flags are not ours', `00-${traceId}-${spanId}-03`, 1],
  ['a later version, with what it adds', `01-${traceId}-${spanId}-01-more`, 1],
])('%s is read and written', (_, text, traceFlags) => {
  const parsed = parseTraceparent(text);
  expect(parsed).toEqual({ traceId, spanId, traceFlags, isRemote: true });
  expect(formatTraceparent(parsed!)).toBe(`00-${traceId}-${spanId}-0${traceFlags}`);
});

test.each([
  [undefined],
  [null],
  [''],
  ['garbage'],
  [`ff-${traceId}-${spanId}-01`],
  [`00-${'0'.repeat(32)}-${spanId}-01`],
  [`00-${traceId}-${'0'.repeat(16)}-01`],
  [`00-${traceId.toUpperCase()}-${spanId}-01`],
])('%s is no trace', (text) => {
  expect(parseTraceparent(text)).toBeNull();
});
