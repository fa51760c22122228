import type { ClientBase } from 'pg';
import { eventually } from './eventually.js';

// That a credential was used is recorded beside the request, which does not wait for it.
const waiters = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query not like '%set last_used_at%'`;

/** Until exactly so many of the database's connections wait for a lock. */
export const lockWaiters = (outside: ClientBase, count: number): Promise<number | null> =>
  eventually(
    async () => {
      // Within a transaction the activity reads as it was when it was first asked for.
      await outside.query('select pg_stat_clear_snapshot()');
      return (await outside.query(waiters)).rowCount;
    },
    (waiting) => waiting === count,
  );

/**
 * Holds what `lock` locks while the requests begin, each after the one before it waits for it, and lets go then: so they pass in this order. Gives the
 * answers in that order.
 */
export async function inOrder<T extends readonly (() => Promise<unknown>)[]>(
  outside: ClientBase,
  lock: { readonly sql: string; readonly values: readonly unknown[] },
  ...requests: T
): Promise<{ [each in keyof T]: Awaited<ReturnType<T[each]>> }> {
  const waiting: Promise<unknown>[] = [];
  await outside.query('begin');
  try {
    await outside.query(lock.sql, [...lock.values]);
    for (const request of requests) {
      waiting.push(request());
      await lockWaiters(outside, waiting.length);
    }
  } finally {
    await outside.query('commit');
    await Promise.allSettled(waiting);
  }
  return (await Promise.all(waiting)) as { [each in keyof T]: Awaited<ReturnType<T[each]>> };
}
