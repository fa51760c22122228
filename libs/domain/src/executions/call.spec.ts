import { parseCallId, toCallId } from './call.js';

test.each([
  { step: 0, name: 'model', attempt: 1 },
  { step: 2, name: 'tool:0', attempt: 2_147_483_647 },
  { step: 12, name: 'a.b.3', attempt: 4 },
])('%j comes back from its id', (reference) => {
  expect(parseCallId(toCallId(reference))).toEqual(reference);
});

test.each(['', '1', '1.model', '.model.1', '1..1', '01.model.1', '1.model.01', '-1.model.1', '1.model.x', '2147483648.model.1', '1.model.9999999999', `1.${'x'.repeat(201)}.1`])(
  '%j is no id',
  (text) => {
    expect(parseCallId(text)).toBeNull();
  },
);
