import { randomBytes } from 'node:crypto';
import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { WakeChannel, type Hint } from '@engine/wake-channel.js';
import { HintBuffer } from './hint-buffer.js';
import { InProcessWake } from './in-process-wake.js';
import { RedisClients } from './redis-clients.js';
import { allPayload, idPayloads, readPayload } from './wake-payload.js';

export const wakeQueue = 'openbot-wake';
export const wakeJob = 'wake';
/** Ids only. None: there were too many to name, look at everything. */
export type WakeJob = { readonly executionIds: readonly string[] };

const channels = { changed: 'openbot:wake:changed', ready: 'openbot:wake:ready' } as const;
/** One job wakes one worker: many ids are several, so that several look. */
const idsPerJob = 20;
/** More jobs than this wait only where no worker takes any. Those that come find the work without them. */
const maxWaitingJobs = 200;
const sizeOf = (hint: Hint): number => (hint === 'all' ? 1 : hint.length);
/** Between two looks at the subscription. */
const testMs = 2_000;

/**
 * Hints between nodes over Redis. That work may be ready is told to one worker, by a job, and only where this process does not take the work
 * itself. That something changed is told to every node: readers are everywhere, and the owner is one of them. Redis keeps nothing that is
 * needed: without it, or with all of it lost, polling finds all work and every event.
 */
@Injectable()
export class RedisWake extends WakeChannel implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(RedisWake.name);
  private readonly own = new InProcessWake();
  private readonly workers = new Set<(hint: Hint) => boolean>();
  private readonly origin = randomBytes(6).toString('hex');
  private readonly changed: HintBuffer;
  private readonly ready: HintBuffer;
  /** What a job brought here while this node had no room. */
  private readonly passedOn: HintBuffer;
  private timer: NodeJS.Timeout | null = null;
  private isSubscribed = false;
  private closed = false;

  constructor(
    @Inject(RedisClients) private readonly redis: RedisClients,
    @InjectQueue(wakeQueue) private readonly queue: Queue<WakeJob>,
  ) {
    super();
    queue.on('error', (error) => redis.note(error));
    const isOpen = (): boolean => redis.commands.status === 'ready';
    this.changed = new HintBuffer((hint) => this.broadcast(channels.changed, hint), isOpen);
    this.ready = new HintBuffer((hint) => this.addJobs(hint), isOpen);
    this.passedOn = new HintBuffer((hint) => this.broadcast(channels.ready, hint), isOpen);
    redis.commands.on('ready', () => this.buffers.forEach((buffer) => buffer.schedule()));
    redis.subscriber.on('ready', () => void this.listen());
    redis.subscriber.on('close', () => (this.isSubscribed = false));
    redis.subscriber.on('message', (channel, text) => this.received(channel, text));
  }

  /** Does not wait for Redis: without it hints stay in this process. */
  onModuleInit(): void {
    this.timer = setInterval(() => void this.listen(), testMs);
    this.timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    if (this.timer) clearInterval(this.timer);
    await Promise.all(this.buffers.map((buffer) => buffer.close()));
    this.redis.close();
  }

  publish(executionIds: readonly string[]): void {
    if (executionIds.length === 0) return;
    this.own.publish(executionIds);
    this.changed.add(executionIds);
    if (!this.isTakenHere(executionIds)) this.ready.add(executionIds);
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    return this.own.subscribe(listener);
  }

  override get isOpen(): boolean {
    return this.isSubscribed;
  }

  override offerTo(worker: (hint: Hint) => boolean): () => void {
    const own = (hint: Hint): boolean => worker(hint);
    this.workers.add(own);
    return () => void this.workers.delete(own);
  }

  /** A job has come to this node. */
  take({ executionIds }: WakeJob): void {
    const hint = executionIds.length > 0 ? executionIds : 'all';
    // Others may have room, and would not hear: all of them are asked at once, and that is the end of it.
    if (!this.isTakenHere(hint)) this.passedOn.add(hint);
  }

  private get buffers(): readonly HintBuffer[] {
    return [this.changed, this.ready, this.passedOn];
  }

  private isTakenHere(hint: Hint): boolean {
    let isTaken = false;
    for (const worker of [...this.workers]) {
      try {
        isTaken = worker(hint) || isTaken;
      } catch (error) {
        this.logger.error({ type: error instanceof Error ? error.name : typeof error });
      }
    }
    return isTaken;
  }

  private async broadcast(channel: string, hint: Hint): Promise<void> {
    this.traffic.sent += sizeOf(hint);
    const payloads = hint === 'all' ? [allPayload(this.origin)] : idPayloads(this.origin, hint);
    await Promise.all(payloads.map((payload) => this.redis.commands.publish(channel, payload)));
  }

  private async addJobs(hint: Hint): Promise<void> {
    if ((await this.queue.getWaitingCount()) >= maxWaitingJobs) return;
    const ids = hint === 'all' ? [] : hint;
    const jobs = Array.from({ length: Math.max(1, Math.ceil(ids.length / idsPerJob)) }, (_, n) => ids.slice(n * idsPerJob, (n + 1) * idsPerJob));
    await this.queue.addBulk(jobs.map((executionIds) => ({ name: wakeJob, data: { executionIds } })));
  }

  /** Asks for the channels, again and again: the answer is the proof that the connection is there, and a silent one is replaced for the want of it. */
  private async listen(): Promise<void> {
    if (this.redis.subscriber.status !== 'ready') return;
    try {
      await this.redis.subscriber.subscribe(channels.changed, channels.ready);
      if (this.isSubscribed || this.closed) return;
      this.isSubscribed = true;
      // Active by now: whatever was told before may have been missed, and nothing is from here on.
      this.own.tell('all');
      this.isTakenHere('all');
    } catch (error) {
      this.redis.note(error);
    }
  }

  private received(channel: string, text: string): void {
    const payload = readPayload(text);
    // Own listeners have heard own hints already.
    if (!payload || payload.kind === 'test' || payload.origin === this.origin) return;
    const hint = payload.kind === 'ids' ? payload.ids : 'all';
    this.traffic.received += sizeOf(hint);
    if (channel === channels.ready) this.isTakenHere(hint);
    else this.own.tell(hint);
  }
}
