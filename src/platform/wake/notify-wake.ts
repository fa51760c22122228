import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { WakeChannel, type Hint } from '@engine/wake-channel.js';
import { HintBuffer } from './hint-buffer.js';
import { InProcessWake } from './in-process-wake.js';
import { ListenConnection } from './listen-connection.js';
import { allPayload, idPayloads, readPayload, testPayload } from './wake-payload.js';

export type NotifySettings = {
  readonly url: string;
  readonly testMs?: number;
  readonly answerMs?: number;
};

const channel = 'openbot_wake';

/**
 * Hints between the nodes of one database, over a connection of their own: never in a transaction that writes, and only while another node
 * listens. A node shows that it does by the tests that it sends itself, which all others hear. Few notifications for many hints: NOTIFY takes a
 * lock of the whole database, so that one for each commit would slow down all.
 */
@Injectable()
export class NotifyWake extends WakeChannel implements OnModuleInit, OnApplicationShutdown {
  private readonly own = new InProcessWake();
  private readonly origin = randomBytes(6).toString('hex');
  private readonly connection: ListenConnection;
  private readonly presenceMs: number;
  private othersUntil = 0;
  private tests = 0;
  private readonly buffer: HintBuffer;

  constructor({ url, testMs = 2_000, answerMs = 3_000 }: NotifySettings) {
    super();
    this.presenceMs = 2 * (testMs + answerMs);
    this.connection = new ListenConnection(
      { url, channel, testMs, answerMs },
      { listening: () => this.listening(), received: (payload) => this.received(payload), nextTest: () => testPayload(this.origin, String((this.tests += 1))) },
    );
    this.buffer = new HintBuffer(
      (hint) => {
        this.traffic.sent += hint === 'all' ? 1 : hint.length;
        return this.connection.notify(hint === 'all' ? [allPayload(this.origin)] : idPayloads(this.origin, hint));
      },
      () => this.connection.listening,
    );
  }

  /** Does not wait for the connection: without it hints stay in this process, and polling finds the rest. */
  onModuleInit(): void {
    this.connection.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.buffer.close();
    await this.connection.close();
  }

  publish(executionIds: readonly string[]): void {
    this.own.publish(executionIds);
    if (executionIds.length > 0 && this.othersMayListen()) this.buffer.add(executionIds);
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    return this.own.subscribe(listener);
  }

  override get isOpen(): boolean {
    return this.connection.listening;
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
    this.buffer.schedule();
  }

  private received(text: string): void {
    const payload = readPayload(text);
    // Own listeners have heard own hints already.
    if (!payload || payload.origin === this.origin) return;
    this.othersUntil = performance.now() + this.presenceMs;
    if (payload.kind !== 'test') this.traffic.received += payload.kind === 'ids' ? payload.ids.length : 1;
    if (payload.kind === 'ids') this.own.tell(payload.ids);
    else if (payload.kind === 'all') this.own.tell('all');
  }
}
