import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { WakeChannel, type Hint } from '@engine/wake-channel.js';
import { InProcessWake } from './in-process-wake.js';
import { ListenConnection } from './listen-connection.js';
import { allPayload, idPayloads, readPayload, testPayload } from './wake-payload.js';

export type NotifySettings = {
  readonly url: string;
  readonly testMs?: number;
  readonly answerMs?: number;
};

const channel = 'openbot_wake';
/** The time between two notifications: NOTIFY takes a lock of the whole database, so that one for each commit would slow down all. */
const flushMs = 10;
/** Beyond this, naming the ids costs more than looking at everything. */
const maxWaiting = 5_000;

/**
 * Hints between the nodes of one database, over a connection of their own: never in a transaction that writes, and only while another node
 * listens. A node shows that it does by the tests that it sends itself, which all others hear.
 */
@Injectable()
export class NotifyWake extends WakeChannel implements OnModuleInit, OnApplicationShutdown {
  private readonly own = new InProcessWake();
  private readonly origin = randomBytes(6).toString('hex');
  private readonly connection: ListenConnection;
  private readonly presenceMs: number;
  private othersUntil = 0;
  private tests = 0;
  private waiting = new Set<string>();
  private waitingForAll = false;
  private sending = false;
  private timer: NodeJS.Timeout | null = null;
  private lastSent = 0;

  constructor({ url, testMs = 2_000, answerMs = 3_000 }: NotifySettings) {
    super();
    this.presenceMs = 2 * (testMs + answerMs);
    this.connection = new ListenConnection(
      { url, channel, testMs, answerMs },
      { listening: () => this.listening(), received: (payload) => this.received(payload), nextTest: () => testPayload(this.origin, String((this.tests += 1))) },
    );
  }

  /** Does not wait for the connection: without it hints stay in this process, and polling finds the rest. */
  onModuleInit(): void {
    this.connection.start();
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    await this.connection.close();
  }

  publish(executionIds: readonly string[]): void {
    this.own.publish(executionIds);
    if (executionIds.length === 0 || !this.othersMayListen()) return;
    for (const id of executionIds) this.waiting.add(id);
    if (this.waiting.size > maxWaiting) {
      this.waiting.clear();
      this.waitingForAll = true;
    }
    this.schedule();
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    return this.own.subscribe(listener);
  }

  /** Nobody knows who is there while there is no connection. */
  private othersMayListen(): boolean {
    return !this.connection.listening || performance.now() < this.othersUntil;
  }

  private listening(): void {
    // The others have not been heard yet.
    this.othersUntil = performance.now() + this.presenceMs;
    // LISTEN is active by now: what is committed from here on is announced, so that whoever looks at everything now misses nothing.
    this.own.tell('all');
    this.schedule();
  }

  private received(text: string): void {
    const payload = readPayload(text);
    // Own listeners have heard own hints already.
    if (!payload || payload.origin === this.origin) return;
    this.othersUntil = performance.now() + this.presenceMs;
    if (payload.kind === 'ids') this.own.tell(payload.ids);
    else if (payload.kind === 'all') this.own.tell('all');
  }

  private schedule(): void {
    if (this.timer || this.sending || (this.waiting.size === 0 && !this.waitingForAll) || !this.connection.listening) return;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        void this.flush();
      },
      Math.max(0, this.lastSent + flushMs - performance.now()),
    );
    this.timer.unref();
  }

  private async flush(): Promise<void> {
    const [ids, all] = [this.waiting, this.waitingForAll];
    this.waiting = new Set();
    this.waitingForAll = false;
    this.sending = true;
    this.lastSent = performance.now();
    try {
      await this.connection.notify(all ? [allPayload(this.origin)] : idPayloads(this.origin, [...ids]));
    } catch {
      // Told again over the next connection: hearing twice is harmless.
      this.waitingForAll ||= all;
      for (const id of ids) this.waiting.add(id);
    } finally {
      this.sending = false;
      this.schedule();
    }
  }
}
