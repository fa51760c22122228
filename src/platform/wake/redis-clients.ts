import { Injectable, Logger } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';

const firstPauseMs = 50;
const lastPauseMs = 2_000;
/** How long a connection may owe an answer before it is replaced. Longer than a worker's question for the next job, which waits on purpose. */
const answerMs = 4_000;
/** Between two lines about faults: a server that is away fails everything that is tried. */
const toldEveryMs = 10_000;

/** Doubles up to two seconds. Half of it is chance: nodes that lost the same server do not come back as one. */
export const reconnectPauseMs = (tries: number): number => Math.min(firstPauseMs * 2 ** Math.min(tries - 1, 10), lastPauseMs) * (0.5 + Math.random() / 2);

const options: RedisOptions = {
  connectTimeout: answerMs,
  // Also for a server that accepts and says nothing: the connection is given up, and made again.
  socketTimeout: answerMs,
  keepAlive: 1_000,
  retryStrategy: reconnectPauseMs,
  // A question waits for the next connection instead of failing: each asker has one question at a time, so that what waits is bounded.
  maxRetriesPerRequest: null,
  // After a failover the address leads to the new primary once the connection is made again.
  reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  // The subscription is renewed by who holds it, and tells its listeners so.
  autoResubscribe: false,
};

/** The connections of this process to Redis, each with its error listener from the start. No start, request or commit waits for one. */
@Injectable()
export class RedisClients {
  private readonly logger = new Logger('RedisWake');
  private toldAt = -toldEveryMs;
  /** Jobs and hints go out here. */
  readonly commands: Redis;
  /** Only listens. */
  readonly subscriber: Redis;

  constructor(url: string) {
    this.commands = this.open(url, 'openbot wake');
    this.subscriber = this.open(url, 'openbot wake hints');
  }

  /** The name and the code of a fault and no more: messages and commands of the client may hold the password. */
  note(error: unknown): void {
    if (performance.now() - this.toldAt < toldEveryMs) return;
    this.toldAt = performance.now();
    const { name, code } = error as { readonly name?: unknown; readonly code?: unknown };
    this.logger.warn({ event: 'wake by Redis is disturbed', type: typeof name === 'string' ? name : typeof error, ...(typeof code === 'string' ? { code } : {}) });
  }

  close(): void {
    this.commands.disconnect();
    this.subscriber.disconnect();
  }

  private open(url: string, connectionName: string): Redis {
    const client = new Redis(url, { ...options, connectionName });
    client.on('error', (error) => this.note(error));
    return client;
  }
}
