import { setMaxListeners } from 'node:events';
import { LongReads } from './long-reads.js';

const never = new AbortController().signal;
setMaxListeners(0, never);
/** A promise that is settled from outside. */
function held<T>(): { promise: Promise<T>; settle: (value: T) => void } {
  let settle!: (value: T) => void;
  return { promise: new Promise<T>((done) => (settle = done)), settle };
}

test('of a hundred pages that are asked for at once one is read at a time, in their order, and a failed one holds up nobody', async () => {
  const reads = new LongReads();
  let [open, most] = [0, 0];
  const order: number[] = [];
  const pages = Array.from({ length: 100 }, (_, number) =>
    reads.page(async () => {
      most = Math.max(most, (open += 1));
      await new Promise((done) => setImmediate(done));
      order.push(number);
      open -= 1;
      if (number === 7) throw new Error('broken');
    }),
  );
  const ended = await Promise.allSettled(pages);
  expect(most).toBe(1);
  expect(order).toEqual(pages.map((_, number) => number));
  expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(1);
});

test('what others have to do comes between two pages', async () => {
  const reads = new LongReads();
  const order: string[] = [];
  const first = reads.page(() => {
    setImmediate(() => order.push('other'));
    order.push('first');
    return Promise.resolve();
  });
  await Promise.all([first, reads.page(() => Promise.resolve(order.push('second')))]);
  expect(order).toEqual(['first', 'other', 'second']);
});

test('who asks the same is answered by one walk, and the next by another', async () => {
  const reads = new LongReads();
  const found = held<number>();
  let walks = 0;
  const walk = (): Promise<number> => ((walks += 1), found.promise);
  const asked = Array.from({ length: 40 }, () => reads.share('one', never, walk));
  found.settle(5);
  expect(await Promise.all(asked)).toEqual(asked.map(() => ({ ok: true, value: 5 })));
  expect(walks).toBe(1);
  await reads.share('one', never, walk);
  expect(walks).toBe(2);
});

test('of many different ones four go on, and the others are told to come again', async () => {
  const reads = new LongReads();
  const found = held<number>();
  const asked = Array.from({ length: 10 }, (_, number) => reads.share(String(number), never, () => found.promise));
  const refused = await Promise.all(asked.slice(4));
  expect(refused).toEqual(refused.map(() => ({ ok: false, failure: { _tag: 'AuditBusy', retryAfterMs: 2_000 } })));
  found.settle(1);
  expect((await Promise.all(asked.slice(0, 4))).every(({ ok }) => ok)).toBe(true);
  expect((await reads.share('another', never, async () => Promise.resolve(1))).ok).toBe(true);
});

test('a walk goes on while one waits for it, stops when all have left, and makes room at once', async () => {
  const reads = new LongReads();
  const [first, second] = [new AbortController(), new AbortController()];
  let stop: AbortSignal | null = null;
  const walk = (signal: AbortSignal): Promise<never> => ((stop = signal), new Promise(() => undefined));
  void reads.share('one', first.signal, walk);
  void reads.share('one', second.signal, walk);
  first.abort();
  expect(stop!.aborted).toBe(false);
  second.abort();
  expect(stop!.aborted).toBe(true);
  for (let number = 0; number < 4; number += 1) expect(await reads.share(String(number), never, () => Promise.resolve(number))).toEqual({ ok: true, value: number });
});

test('a failed walk fails for who waits for it, and not for who asks next', async () => {
  const reads = new LongReads();
  await expect(reads.share('one', never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await reads.share('one', never, () => Promise.resolve(1))).toEqual({ ok: true, value: 1 });
});

test('a principal holds two exports open, a node twenty', () => {
  const reads = new LongReads();
  const mine = [reads.openExport('mine'), reads.openExport('mine')];
  expect(reads.openExport('mine').ok).toBe(false);
  for (let number = 0; number < 18; number += 1) expect(reads.openExport(`other ${number}`).ok).toBe(true);
  expect(reads.openExport('last').ok).toBe(false);
  if (mine[0]!.ok) mine[0]!.value();
  expect(reads.openExport('last').ok).toBe(true);
});
