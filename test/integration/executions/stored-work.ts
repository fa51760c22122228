import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { rightsOf } from '@domain/access/rights.js';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import type { EndState } from '@domain/executions/state.js';
import { ok } from '@domain/result.js';
import { admitExecution, type NewExecution } from '@engine/admit.js';
import { appendEvent } from '@engine/executions.js';
import type { Tx } from '@engine/tx.js';
import type { Config } from '@platform/config/config.js';
import { read, transact } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { Sealer } from '@platform/secrets/sealer.js';

export const encryptionKeys = [{ id: 'test', key: Buffer.alloc(32, 3) }];

export const newIdentity = (): Identity => ({
  context: { organizationId: uuidv7(), projectId: uuidv7() },
  memberId: uuidv7(),
  tokenId: uuidv7(),
  credential: 'user_token',
  role: 'member',
  permissions: rightsOf({ role: 'member', projectRole: null }),
});

export const text = (delta: string, step = 1, attempt = 1): ExecutionEventBody => ({ _tag: 'Text', step, attempt, delta });

export type Head = { readonly sequence: number; readonly ended: boolean };

/** Stored work as an engine would leave it, written by the statements that all writers use. */
export class StoredWork {
  constructor(
    readonly db: DataSource,
    readonly sealer = new Sealer(db, { encryptionKeys } as unknown as Config),
  ) {}

  /** One commit of the tenant. */
  async write<T>(who: Identity, write: (tx: Tx) => Promise<T>): Promise<T> {
    let written: { value: T } | null = null;
    await transact(this.db, who.context, async (tx) => {
      written = { value: await write(tx) };
      return ok(null);
    });
    return (written as unknown as { value: T }).value;
  }

  async admit(who: Identity, work: Partial<NewExecution> = {}): Promise<string> {
    const plain = { context: who.context, workflow: 'probe', version: 1, cursor: {}, subjectId: null, identityId: null, memberId: who.memberId, ready: false };
    return this.write(who, (tx) => admitExecution(tx, { ...plain, ...work }));
  }

  /** All in one commit; answers the last sequence. Hints nobody. */
  async append(who: Identity, id: string, ...events: readonly ExecutionEventBody[]): Promise<number> {
    const key = await this.sealer.keyOf(who.context.organizationId);
    return this.write(who, async (tx) => {
      let sequence = 0;
      for (const event of events) sequence = await appendEvent(tx, key, id, event);
      return sequence;
    });
  }

  /** The commit that ends it: its last events, then the end state. */
  async end(who: Identity, id: string, state: EndState = 'completed', ...events: readonly ExecutionEventBody[]): Promise<number> {
    const key = await this.sealer.keyOf(who.context.organizationId);
    return this.write(who, async (tx) => {
      for (const event of events) await appendEvent(tx, key, id, event);
      await tx.query(`update execution set state = $2, ended_at = clock_timestamp(), started_at = coalesce(started_at, clock_timestamp()), runnable_at = null where id = $1`, [
        id,
        state,
      ]);
      return appendEvent(tx, key, id, { _tag: 'State', state });
    });
  }

  head(who: Identity, id: string): Promise<Head> {
    return read(this.db, who.context, async (tx) => {
      const [row] = await tx.query<{ sequence: number; ended_at: Date | null }[]>(`select sequence, ended_at from execution where id = $1`, [id]);
      if (!row) throw new Error('no such execution');
      return { sequence: row.sequence, ended: row.ended_at !== null };
    });
  }
}
