import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError, type DataSource, type QueryRunner } from 'typeorm';
import type { PoolClient } from 'pg';
import type { Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx, Tx } from '@engine/tx.js';
import { isOutdatedPlan } from './prepared-statements.js';

class Rollback {
  constructor(readonly result: Result<unknown, unknown>) {}
}

/** COMMIT was answered, but not with COMMIT: PostgreSQL rolled the transaction back and said so only in the command tag. */
export class CommitRefused extends Error {}

/** The project is being deleted, or was: nothing begins in it any more, whoever was let in before. */
export class ProjectClosed extends Error {
  constructor() {
    super('the project is being deleted');
  }
}
const projectClosedState = 'OB001';

/** What we use of pg and TypeORM beyond their types. */
type Connection = PoolClient & { readonly connection: { readonly stream: Socket }; getTransactionStatus(): 'I' | 'T' | 'E' | null };
type Runner = QueryRunner & { releasePostgresConnection(error?: Error): Promise<void> };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const literal = (value: string | null): string => {
  if (value === null) return `''`;
  if (!uuid.test(value)) throw new TypeError('a tenant context holds UUIDs only');
  return `'${value}'`;
};

/** BEGIN and the tenant in one message. The pools pipeline, so it leaves together with the first statement of the work. */
export const openStatement = (context: TenantContext, mode = ''): string =>
  `begin${mode}; select set_config('app.organization', ${literal(context.organizationId)}, true), set_config('app.project', ${literal(context.projectId)}, true)`;

/** As `openStatement`, in a project in which work may begin: it stays so until the transaction ends. */
const holdStatement = (context: TenantContext): string => `${openStatement(context)}${context.projectId === null ? '' : '; select hold_project()'}`;

const isRetryable = (error: unknown): boolean => ['40001', '40P01'].includes((error as { code?: string } | null)?.code ?? '') || isOutdatedPlan(error);

/**
 * TypeORM takes a connection back that breaks between two statements, and calls the next one a fault of its caller. Only the network releases a
 * runner while its work goes on, and in the driver's words everybody knows it as an outage.
 */
const inDriversWords = (error: unknown): unknown =>
  (error as { code?: unknown } | null)?.code === projectClosedState
    ? new ProjectClosed()
    : error instanceof QueryRunnerAlreadyReleasedError || error instanceof QueryRunnerProviderAlreadyReleasedError
      ? new Error('Connection terminated between two statements of a transaction', { cause: error })
      : error;

/** Sends the statement in one flush with what the caller sends before it waits for the network. Only after an `await`: a tick comes behind all microtasks there. */
function sendWithNext(client: Connection, statement: string): Promise<unknown> {
  const { stream } = client.connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
  return client.query(statement);
}

/**
 * Ends what is open. An opening that failed left its transaction open before the driver knows of one, so it is asked nothing. Whatever goes wrong here, the
 * state of the connection decides what becomes of it.
 */
async function rollBack(client: Connection): Promise<void> {
  if (client.connection.stream.destroyed) return;
  await client.query('rollback').catch(() => undefined);
}

/** A connection in any other state than idle would hand its transaction, and with it a tenant, to the next borrower: it is destroyed. */
async function giveBack(runner: Runner, client: Connection): Promise<void> {
  const { stream } = client.connection;
  if (client.getTransactionStatus() === 'I' && !stream.destroyed) return runner.release();
  stream.destroy();
  await runner.releasePostgresConnection(new Error('the connection was left inside a transaction'));
}

async function inside<R>(db: DataSource, statement: string, work: (manager: Tx & ReadTx) => Promise<R>): Promise<R> {
  const runner = db.createQueryRunner() as Runner;
  const client = (await runner.connect()) as Connection;
  const opened = sendWithNext(client, statement);
  opened.catch(() => undefined);
  try {
    const result = await work(runner.manager as Tx & ReadTx);
    await opened;
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new CommitRefused('the transaction was rolled back by the database');
    return result;
  } catch (error) {
    // When the transaction could not be opened, what its statements met is a consequence.
    const cause: unknown = await opened.then(
      () => inDriversWords(error),
      (first: unknown) => inDriversWords(first),
    );
    await rollBack(client);
    throw cause;
  } finally {
    await giveBack(runner, client);
  }
}

/**
 * Runs `work` in one transaction of the tenant. A failed Result rolls back exactly as a throw does.
 * After a deadlock or a serialization failure it runs `work` again (at most five times): `work` awaits nothing but statements on `tx`.
 * Throws `ProjectClosed` in a project that is being deleted; whoever deletes it waits for what began before.
 */
export async function transact<R extends Result<unknown, unknown>>(db: DataSource, context: TenantContext, work: (tx: Tx) => Promise<R>): Promise<R> {
  return repeatedly(db, holdStatement(context), work);
}

/** As `transact`, also in a project that is being deleted: what the engine runs there has to come to its end. */
export async function transactStored<R extends Result<unknown, unknown>>(db: DataSource, context: TenantContext, work: (tx: Tx) => Promise<R>): Promise<R> {
  return repeatedly(db, openStatement(context), work);
}

async function repeatedly<R extends Result<unknown, unknown>>(db: DataSource, statement: string, work: (tx: Tx) => Promise<R>): Promise<R> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inside(db, statement, async (tx) => {
        const result = await work(tx);
        if (!result.ok) throw new Rollback(result);
        return result;
      });
    } catch (error) {
      if (error instanceof Rollback) return error.result as R;
      if (attempt >= 5 || !isRetryable(error)) throw error;
      // Two that met once would meet again in step.
      await pause(Math.random() * 10 * attempt);
    }
  }
}

/** Runs `work` in one read-only transaction of the tenant, on one snapshot per statement; a second time where a statement's plan was outdated. */
export async function read<R>(db: DataSource, context: TenantContext, work: (tx: ReadTx) => Promise<R>): Promise<R> {
  const statement = openStatement(context, ' read only');
  try {
    return await inside(db, statement, work);
  } catch (error) {
    if (!isOutdatedPlan(error)) throw error;
    return inside(db, statement, work);
  }
}
