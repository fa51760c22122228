import { setTimeout as pause } from 'node:timers/promises';

/** Asks again until the fact is there; fails with what was asked last. For facts outside this process: a promise is awaited instead. */
export async function eventually<T>(fact: () => T | Promise<T>, isThere: (value: T) => boolean = Boolean, timeoutMs = 15_000): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const value = await fact();
    if (isThere(value)) return value;
    if (performance.now() > until) throw new Error(`not within ${timeoutMs} ms: ${JSON.stringify(value)}`);
    await pause(5);
  }
}
