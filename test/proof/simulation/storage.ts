import type { Pool } from 'pg';
import type { Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { Tx } from '@engine/tx.js';
import { openStatement } from '@platform/database/transact.js';
import { Transaction, type Scheduler } from './scheduler.js';
import type { Settled, Statement } from './sessions.js';
import type { SimulatedProcess } from './virtual-time.js';

/** How often what goes wrong: probabilities for each statement. */
export type Weather = { cut: number; /** BEGIN leaves alone. */ split: number; lost: number; delayed: number };

/** What a process can know of a connection that broke. */
const connectionLost = (): Error => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });

const rowsOf = (settled: Settled): { rows: object[]; rowCount: number | null } => {
  if ('error' in settled) throw settled.error;
  return settled;
};

/** A process's way to the database: a pool and a transaction as the engine knows them, each statement of which is a turn of the scheduler. */
export class Storage {
  constructor(
    private readonly scheduler: Scheduler,
    private readonly process: SimulatedProcess,
    private readonly weather: Weather,
  ) {}

  readonly pool = {
    query: (config: string | (Statement & { values?: unknown[] }), values?: unknown[]) =>
      this.query(typeof config === 'string' ? { text: config, ...(values ? { values } : {}) } : config),
  } as unknown as Pool;

  /** One statement that is a transaction of its own, whole or cut into the three parts that it has on the server. */
  async query(given: Statement): Promise<{ rows: object[]; rowCount: number | null }> {
    const { scheduler, weather } = this;
    const label = labelOf(given);
    // A driver's options stay behind.
    const statement = { ...(given.name ? { name: given.name } : {}), text: given.text, ...(given.values ? { values: given.values } : {}) };
    const transaction = new Transaction(this.process);
    if (scheduler.chance(weather.delayed)) {
      scheduler.afterwards(null, 'auto', statement, label);
      throw connectionLost();
    }
    if (readsOnly.test(given.text) || !scheduler.chance(weather.cut)) {
      const settled = await scheduler.step(transaction, 'auto', statement, label);
      if (scheduler.chance(weather.lost)) throw connectionLost();
      return rowsOf(settled);
    }
    const settled = await this.first(transaction, 'begin', statement, label);
    if ('error' in settled) {
      await scheduler.step(transaction, 'rollback', { text: 'rollback' }, `${label} rollback`);
      throw settled.error;
    }
    await this.commit(transaction, label);
    return settled;
  }

  /** As the platform's: after a serialization failure the work runs again. */
  async transact<R extends Result<unknown, unknown>>(context: TenantContext, work: (tx: Tx) => Promise<R>): Promise<R> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.inTransaction(context, work);
      } catch (error) {
        if (attempt >= 5 || (error as { code?: string }).code !== '40001') throw error;
      }
    }
  }

  private async inTransaction<R extends Result<unknown, unknown>>(context: TenantContext, work: (tx: Tx) => Promise<R>): Promise<R> {
    const { scheduler } = this;
    const transaction = new Transaction(this.process);
    let opened = false;
    const ask = async (text: string, values?: unknown[]): Promise<object[]> => {
      const statement = { text, ...(values ? { values: values.map(asParameter) } : {}) };
      const settled = opened
        ? await scheduler.step(transaction, 'statement', statement, labelOf(statement))
        : await this.first(transaction, openStatement(context), statement, labelOf(statement));
      opened = true;
      return rowsOf(settled).rows;
    };
    const tx = { query: ask } as unknown as Tx;
    let result: R;
    try {
      result = await work(tx);
    } catch (error) {
      await scheduler.step(transaction, 'rollback', { text: 'rollback' }, 'rollback');
      throw error;
    }
    if (result.ok) await this.commit(transaction, 'transaction');
    else await scheduler.step(transaction, 'rollback', { text: 'rollback' }, 'rollback');
    return result;
  }

  /** BEGIN and what follows it mostly leave together; what happens between them moves only the instant that the transaction calls now. */
  private async first(transaction: Transaction, opens: string, statement: Statement, label: string): Promise<Settled> {
    if (!this.scheduler.chance(this.weather.split)) return this.scheduler.step(transaction, 'statement', { ...statement, opens }, label);
    await this.scheduler.step(transaction, 'statement', { text: opens }, `${label} begin`);
    return this.scheduler.step(transaction, 'statement', statement, label);
  }

  /** An answer is lost before COMMIT, after it, or while COMMIT is still on its way. */
  private async commit(transaction: Transaction, label: string): Promise<void> {
    const { scheduler, weather } = this;
    const commit = { text: 'commit' };
    if (scheduler.chance(weather.delayed)) scheduler.afterwards(transaction, 'commit', commit, `${label} commit`);
    else if (scheduler.chance(weather.lost)) scheduler.afterwards(transaction, 'rollback', { text: 'rollback' }, `${label} rollback`);
    else {
      rowsOf(await scheduler.step(transaction, 'commit', commit, `${label} commit`));
      if (!scheduler.chance(weather.lost)) return;
    }
    throw connectionLost();
  }
}

/** One picture of what is committed: there is nothing in them to come between. */
const readsOnly = /load_work|next_ready|look_around|watch_owned|time_left|from node/;

const asParameter = (value: unknown): unknown => (value !== null && typeof value === 'object' && !Array.isArray(value) && !Buffer.isBuffer(value) ? JSON.stringify(value) : value);

/** The function that a statement calls, or its first words. */
export const labelOf = ({ text }: Pick<Statement, 'text'>): string => /(?:from|select)\s+([a-z_]+)\(/.exec(text)?.[1] ?? text.trim().split(/\s+/).slice(0, 3).join(' ');
