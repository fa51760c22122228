import { Response } from 'undici';
import { AnswerLimitError, limitAnswer } from './answer-limit.js';

const limits = { maxBytes: 1_000, maxLineBytes: 100, maxMs: 60_000 };
let cancelled = 0;
beforeEach(() => (cancelled = 0));

/** A server that goes on for as long as it is read. */
const endless = (piece: string): Response =>
  new Response(
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Buffer.from(piece)),
      cancel: () => void (cancelled += 1),
    }),
    { status: 201, headers: { 'x-request-id': 'req_1' } },
  );

test('an answer within its limits is the same answer', async () => {
  const answer = limitAnswer(new Response(`${'x'.repeat(90)}\n`.repeat(10), { status: 201, headers: { 'x-request-id': 'req_1' } }), limits);
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([201, 'req_1']);
  expect(await answer.text()).toHaveLength(910);
});

test.each([
  ['of many lines', 'line\n', limits],
  ['of one line', 'x', limits],
  ['that lasts', 'line\n', { ...limits, maxMs: -1 }],
])('an answer without an end %s is cut off, and its server let go', async (_, piece, limit) => {
  await expect(limitAnswer(endless(piece), limit).text()).rejects.toBeInstanceOf(AnswerLimitError);
  expect(cancelled).toBe(1);
});

test('an answer without a body stays as it is', () => {
  const answer = new Response(null, { status: 204 });
  expect(limitAnswer(answer, limits)).toBe(answer);
});
