import { Inject, Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { SafeFailure } from '@domain/executions/failures.js';
import { ok } from '@domain/result.js';
import { transact } from '@platform/database/transact.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { processDatabase } from '@platform/secrets/process-database.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { causeText } from './cause-text.js';
import { categoryOf } from './failure-category.js';

/** Where a failure happened. `organizationId: null` is a failure before anybody was identified: a record of the platform. */
export type FailureOrigin = {
  readonly organizationId: string | null;
  readonly projectId?: string | null;
  readonly executionId?: string | null;
  /** Overrides the category that the cause itself shows. */
  readonly category?: string;
};

type Waiting = { readonly id: string; readonly category: string; readonly origin: FailureOrigin; readonly cause: string };

const maxWaiting = 1_000;
const firstRetryMs = 100;
const lastRetryMs = 5_000;
const flushMs = 3_000;

/** Seals the full cause of every unexpected failure under an id. Clients, events and logs see the id and a category, never the cause. */
@Injectable()
export class ErrorRecords implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly logger = new Logger(ErrorRecords.name);
  private readonly waiting: Waiting[] = [];
  private saving: Promise<void> | null = null;
  private retryNow: (() => void) | null = null;

  constructor(
    @Inject(processDatabase) private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  /**
   * Gives an id at once; the cause is saved behind the caller's back, also when the database is down now. `errorId` is the stored UUID:
   * HTTP and events show it as a TypeID. A queue that is full drops the newest causes: the oldest tell how it began.
   */
  record(cause: unknown, origin: FailureOrigin): SafeFailure {
    const failure = { category: origin.category ?? categoryOf(cause), errorId: uuidv7() };
    const kept = this.waiting.length < maxWaiting;
    if (kept) this.waiting.push({ id: failure.errorId, category: failure.category, origin, cause: causeText(cause) });
    const { name, code } = cause instanceof Error ? (cause as Error & { code?: unknown }) : { name: typeof cause, code: undefined };
    this.logger.error({
      errorId: toPublicId('error', failure.errorId),
      category: failure.category,
      type: name,
      ...(typeof code === 'string' ? { code } : {}),
      ...(origin.executionId ? { executionId: toPublicId('execution', origin.executionId) } : {}),
      ...(kept ? {} : { lost: true }),
    });
    this.start();
    return failure;
  }

  /** Resolves when nothing waits any more, or after `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    this.retryNow?.();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([this.saving, late]);
    clearTimeout(timer);
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.flush(flushMs);
  }

  /** Once more, for what failed while the server closed. */
  onApplicationShutdown(): Promise<void> {
    return this.flush(flushMs);
  }

  private start(): void {
    this.saving ??= this.saveAll().finally(() => {
      this.saving = null;
      // One may have come after the loop's last look and before this.
      if (this.waiting.length > 0) this.start();
    });
  }

  private async saveAll(): Promise<void> {
    let retryMs = firstRetryMs;
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      try {
        await this.save(next);
        this.waiting.shift();
        retryMs = firstRetryMs;
      } catch (error) {
        if (categoryOf(error) === 'storage_unavailable') await this.pause(retryMs);
        else this.giveUp(next, error);
        retryMs = Math.min(retryMs * 2, lastRetryMs);
      }
    }
  }

  private giveUp({ id }: Waiting, error: unknown): void {
    this.waiting.shift();
    this.logger.error({ errorId: toPublicId('error', id), lost: true, type: error instanceof Error ? error.name : typeof error });
  }

  private async pause(retryMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, retryMs);
      timer.unref();
      this.retryNow = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.retryNow = null;
  }

  private async save({ id, category, origin, cause }: Waiting): Promise<void> {
    const { organizationId, projectId = null, executionId = null } = origin;
    const key = organizationId === null ? this.sealer.platform : await this.sealer.keyOf(organizationId);
    const insert = `insert into error_record (id, organization_id, project_id, execution_id, category, cause) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`;
    const values = [id, organizationId, projectId, executionId, category, key.seal({ table: 'error_record', record: id }, cause)];
    if (organizationId === null) {
      await this.db.query(insert, values);
      return;
    }
    await transact(this.db, { organizationId, projectId }, async (tx) => {
      await tx.query(insert, values);
      return ok(undefined);
    });
  }
}
