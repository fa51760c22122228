import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { fail, ok, type Result } from '@domain/result.js';

/** A node does no more of it at once. It passes by itself. */
export type AuditBusy = { readonly _tag: 'AuditBusy'; readonly retryAfterMs: number };

/** Different verifications at a node, and exports at a node and of one principal. */
const [mostWalks, mostExports, mostExportsOfOne] = [4, 20, 2];
const busy: AuditBusy = { _tag: 'AuditBusy', retryAfterMs: 2_000 };

type Walk<T> = { waiting: number; readonly stop: AbortController; readonly found: Promise<T> };

/**
 * Whole chains are long, and read by few. However many ask, a node reads one page of one chain at a time, on one connection, and lets every other request
 * go before the next; who asks the same is answered together; and who asks when too many do is told to come again.
 */
@Injectable()
export class LongReads {
  private readonly walks = new Map<string, Walk<unknown>>();
  private readonly exports = new Map<string, number>();
  private before: Promise<unknown> = Promise.resolve();

  /** One page, after those that were asked for earlier. */
  page<T>(read: () => Promise<T>): Promise<T> {
    const turn = this.before.then(() => nextTurn()).then(read);
    this.before = turn.catch(() => undefined);
    return turn;
  }

  /** `name`: the same for those who are answered by one walk. `left`: whoever asks has gone; a walk that nobody waits for any more is told to stop. */
  async share<T>(name: string, left: AbortSignal, walk: (stop: AbortSignal) => Promise<T>): Promise<Result<T, AuditBusy>> {
    const found = (this.walks.get(name) as Walk<T> | undefined) ?? this.begin(name, walk);
    if (!found) return fail(busy);
    found.waiting += 1;
    left.addEventListener('abort', () => this.leave(name, found), { once: true });
    return ok(await found.found);
  }

  /** Answers how it is given back, once. */
  openExport(principal: string): Result<() => void, AuditBusy> {
    const [own, all] = [this.exports.get(principal) ?? 0, [...this.exports.values()].reduce((sum, count) => sum + count, 0)];
    if (own >= mostExportsOfOne || all >= mostExports) return fail(busy);
    this.exports.set(principal, own + 1);
    return ok(() => {
      const left = (this.exports.get(principal) ?? 1) - 1;
      if (left > 0) this.exports.set(principal, left);
      else this.exports.delete(principal);
    });
  }

  private begin<T>(name: string, work: (stop: AbortSignal) => Promise<T>): Walk<T> | null {
    if (this.walks.size >= mostWalks) return null;
    const stop = new AbortController();
    const walk: Walk<T> = { waiting: 0, stop, found: work(stop.signal).finally(() => this.forget(name, walk)) };
    // Who left hears of no failure either.
    walk.found.catch(() => undefined);
    this.walks.set(name, walk);
    return walk;
  }

  private leave(name: string, walk: Walk<unknown>): void {
    walk.waiting -= 1;
    if (walk.waiting > 0) return;
    // Before it stops: who comes now begins another.
    this.forget(name, walk);
    walk.stop.abort();
  }

  private forget(name: string, walk: Walk<unknown>): void {
    if (this.walks.get(name) === walk) this.walks.delete(name);
  }
}
