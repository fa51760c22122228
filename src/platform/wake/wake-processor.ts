import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Job } from 'bullmq';
import { RedisClients } from './redis-clients.js';
import { RedisWake, wakeQueue, type WakeJob } from './redis-wake.js';

/**
 * Takes one job after the other for this node's worker. Nothing is repeated: a job that dies with its process is given up as failed, and polling
 * finds what it was about.
 */
@Processor(wakeQueue, { concurrency: 1, drainDelay: 2, maxStalledCount: 0, runRetryDelay: 1_000, skipVersionCheck: true })
export class WakeProcessor extends WorkerHost implements BeforeApplicationShutdown {
  constructor(
    @Inject(RedisWake) private readonly wake: RedisWake,
    @Inject(RedisClients) private readonly redis: RedisClients,
  ) {
    super();
  }

  process({ data }: Job<WakeJob>): Promise<void> {
    this.wake.take(data);
    return Promise.resolve();
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.redis.note(error);
  }

  /** A node that leaves takes no more jobs. By force, because an orderly end would wait for a server that may not answer. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.isStarted()) await this.worker.close(true);
  }

  /** A start that failed before may leave no worker to close. */
  private isStarted(): boolean {
    try {
      return Boolean(this.worker);
    } catch {
      return false;
    }
  }
}
