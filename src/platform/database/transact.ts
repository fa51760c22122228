import type { DataSource, QueryRunner } from 'typeorm';
import type { PoolClient } from 'pg';
import type { Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx, Tx } from '@engine/tx.js';

class Rollback {
  constructor(readonly result: Result<unknown, unknown>) {}
}

/** COMMIT was answered, but not with COMMIT: PostgreSQL rolled the transaction back and said so only in the command tag. */
export class CommitRefused extends Error {}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const literal = (value: string | null): string => {
  if (value === null) return `''`;
  if (!uuid.test(value)) throw new TypeError('a tenant context holds UUIDs only');
  return `'${value}'`;
};

/** BEGIN and the tenant in one message. The pools pipeline, so it leaves together with the first statement of the work. */
export const openStatement = (context: TenantContext, mode = ''): string =>
  `begin${mode}; select set_config('app.organization', ${literal(context.organizationId)}, true), set_config('app.project', ${literal(context.projectId)}, true)`;

const isRetryable = (error: unknown): boolean => ['40001', '40P01'].includes((error as { code?: string } | null)?.code ?? '');

async function close(runner: QueryRunner, error?: unknown): Promise<void> {
  const client = (await runner.connect()) as PoolClient & { getTransactionStatus(): string | null };
  // A client in any other state than idle would hand its transaction, and with it a tenant, to the next borrower.
  const broken = client.getTransactionStatus() !== 'I';
  if (broken) client.release(error instanceof Error ? error : true);
  else await runner.release();
}

async function inside<R>(db: DataSource, context: TenantContext, mode: string, work: (manager: Tx & ReadTx) => Promise<R>): Promise<R> {
  const runner = db.createQueryRunner();
  const client = (await runner.connect()) as PoolClient;
  let failure: unknown;
  try {
    const opened = client.query(openStatement(context, mode));
    opened.catch(() => undefined);
    const result = await work(runner.manager as Tx & ReadTx);
    await opened;
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new CommitRefused('the transaction was rolled back by the database');
    return result;
  } catch (error) {
    failure = error;
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    await close(runner, failure);
  }
}

/**
 * Runs `work` in one transaction of the tenant. A failed Result rolls back exactly as a throw does.
 * After a deadlock or a serialization failure it runs `work` again (at most five times): `work` awaits nothing but statements on `tx`.
 */
export async function transact<R extends Result<unknown, unknown>>(db: DataSource, context: TenantContext, work: (tx: Tx) => Promise<R>): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inside(db, context, '', async (tx) => {
        const result = await work(tx);
        if (!result.ok) throw new Rollback(result);
        return result;
      });
    } catch (error) {
      if (error instanceof Rollback) return error.result as R;
      if (attempt >= 5 || !isRetryable(error)) throw error;
    }
  }
}

/** Runs `work` in one read-only transaction of the tenant, on one snapshot per statement. */
export const read = <R>(db: DataSource, context: TenantContext, work: (tx: ReadTx) => Promise<R>): Promise<R> => inside(db, context, ' read only', work);
