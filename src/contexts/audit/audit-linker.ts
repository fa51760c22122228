import { Injectable, Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';

const everyMs = 1_000;
/** Keeps a run short also after a time in which nobody linked. */
const maxEntries = 500;

/**
 * Gives committed entries their places in their chains. Every worker runs one, once a second: a row that waits is found by being there, so that no entry
 * is passed by, however late its transaction committed, and none needs any one process.
 */
@Injectable()
export class AuditLinker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger(AuditLinker.name);
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;

  constructor(@InjectDataSource('worker') private readonly db: DataSource) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.running ??= this.link().finally(() => (this.running = null));
    }, everyMs).unref();
  }

  /** The pool is closed in the step after this one. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    await this.running;
  }

  /** A run that failed took nothing away: the next repeats it. */
  private async link(): Promise<void> {
    try {
      while (this.timer) {
        const [row] = await this.db.query<{ found: number }[]>('select link_audit($1) as found', [maxEntries]);
        if ((row?.found ?? 0) < maxEntries) return;
      }
    } catch (error) {
      this.log.warn({ event: 'audit entries were not linked', code: (error as { code?: unknown } | null)?.code });
    }
  }
}
