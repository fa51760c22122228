import type { ModelFailure } from './model.js';
import { retryDelayMs, sleep } from './retry.js';

const failure = (kind: ModelFailure['kind'], retryAfterMs: number | null = null): ModelFailure => ({
  type: 'failure',
  kind,
  retryAfterMs,
  status: null,
  requestId: null,
  usage: null,
  cause: null,
});

test.each<[rule: string, failure: ModelFailure, attempt: number, random: number, delayMs: number | null]>([
  ['the first wait is short', failure('unavailable'), 1, 1, 500],
  ['chance halves it at most', failure('unavailable'), 1, 0, 250],
  ['it doubles', failure('interrupted'), 3, 1, 2000],
  ['the last attempt has no other after it', failure('unavailable'), 4, 1, null],
  ['what the provider asks for is kept to', failure('limited', 7000), 1, 0, 7000],
  ['also when it asks for less than we wait', failure('limited', 10), 1, 1, 500],
  ['too much patience ends the step', failure('limited', 120_001), 1, 0, null],
  ['a rejected request stays rejected', failure('rejected'), 1, 0, null],
  ['so does a missing right', failure('unauthorized'), 1, 0, null],
  ['and a history that is too long', failure('too-long'), 1, 0, null],
])('%s', (_rule, failed, attempt, random, delayMs) => {
  expect(retryDelayMs(failed, attempt, random)).toBe(delayMs);
});

test('the wait has a ceiling', () => {
  expect(retryDelayMs(failure('unavailable'), 30, 1, { maxAttempts: 99, firstDelayMs: 500, maxDelayMs: 20_000, maxRetryAfterMs: 0 })).toBe(20_000);
});

test('a sleep ends with its time, or at once when it is aborted', async () => {
  await sleep(1, new AbortController().signal);
  const abort = new AbortController();
  const sleeping = sleep(1_000_000, abort.signal);
  abort.abort();
  await sleeping;
  await sleep(1_000_000, abort.signal);
});
