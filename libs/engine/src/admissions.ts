import type { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { toWire, type NewExecution } from './admit.js';
import { Lanes, type Waiting } from './lanes.js';

type WaitingWork = Waiting & { readonly resolve: () => void; readonly reject: (error: unknown) => void };

const statement = { name: 'openbot_admit_batch', text: 'select admit_batch($1::jsonb)' };

/**
 * Admits work whose admission writes nothing else: grouped across callers and organizations into one statement, which is a transaction of its own.
 * Work that belongs to other rows (a receipt, a message, a parent) is admitted by `admitExecution` in their transaction. The wake goes out after it resolves.
 */
export class Admissions {
  private readonly lanes = new Lanes<WaitingWork>((batch) => this.flush(batch));

  /** `pool`: any login that acts for tenants. */
  constructor(private readonly pool: Pool) {}

  /** Durable when it resolves; answers the id. After an error that is no data error it may have happened: the same id may be handed in again. */
  admit(work: NewExecution): Promise<string> {
    if (work.parent) return Promise.reject(new Error('a child is admitted in the transaction that holds its parent'));
    const id = work.id ?? uuidv7();
    const bytes = JSON.stringify(toWire(id, work));
    return new Promise((resolve, reject) => this.lanes.push({ bytes, resolve: () => resolve(id), reject }));
  }

  private async flush(batch: readonly WaitingWork[]): Promise<void> {
    try {
      await this.send(batch);
      for (const waiting of batch) waiting.resolve();
    } catch (error) {
      if (batch.length === 1) return batch[0]?.reject(error);
      // One item's data was refused, or the answer was lost: each goes alone, and gets its own answer.
      for (const waiting of batch) this.send([waiting]).then(waiting.resolve, waiting.reject);
    }
  }

  private async send(batch: readonly WaitingWork[]): Promise<void> {
    await this.pool.query({ ...statement, values: [`[${batch.map(({ bytes }) => bytes).join(',')}]`] });
  }
}
