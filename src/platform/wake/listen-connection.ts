import { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';

export type ListenSettings = {
  /** Of the database itself: a pooler between would lose LISTEN. */
  readonly url: string;
  readonly channel: string;
  /** How long the connection rests between two tests. */
  readonly testMs: number;
  /** How long the answer to a test, a statement or a new connection may take before the connection is replaced. */
  readonly answerMs: number;
};

export type ListenEvents = {
  /** LISTEN is active; whatever was sent before may have been missed. */
  readonly listening: () => void;
  readonly received: (payload: string) => void;
  /** What the connection sends itself to see that its way through the server is open. */
  readonly nextTest: () => string;
};

/** A connection that listened for this long was no failed try. */
const provenMs = 100;
const firstPauseMs = 50;
const lastPauseMs = 2_000;

export class SilentConnection extends Error {}

/** One connection that listens, for as long as the process runs: it tests itself, and is replaced as soon as it breaks or goes silent. */
export class ListenConnection {
  private readonly logger = new Logger(ListenConnection.name);
  private client: Client | null = null;
  private socket: Socket | null = null;
  private interrupt: ((error: Error) => void) | null = null;
  private awaited: { readonly payload: string; readonly heard: () => void } | null = null;
  private listensSince: number | null = null;
  private closed = false;
  private running: Promise<void> | null = null;

  constructor(
    private readonly settings: ListenSettings,
    private readonly events: ListenEvents,
  ) {}

  get listening(): boolean {
    return this.client !== null;
  }

  private get servedMs(): number {
    return this.listensSince === null ? 0 : performance.now() - this.listensSince;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Rejects when the connection is not there or breaks: nobody knows then whether the others heard. */
  async notify(payloads: readonly string[]): Promise<void> {
    if (!this.client) throw new Error('the wake channel has no connection');
    await this.client.query(`select pg_notify($1, payload) from unnest($2::text[]) payload`, [this.settings.channel, payloads]);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.interrupt?.(new Error('closed'));
    this.socket?.destroy();
    await this.running;
  }

  private async run(): Promise<void> {
    let pauseMs = 0;
    while (!this.closed) {
      this.listensSince = null;
      const error = await this.serve().then(
        () => null,
        (cause: Error & { code?: string }) => cause,
      );
      if (this.closed || !error) return;
      this.logger.warn({ event: 'wake channel lost', type: error.constructor.name, ...(error.code ? { code: error.code } : {}) });
      // A connection that served is replaced at once, however often it is cut; one that cannot be made is asked for less and less often.
      pauseMs = this.servedMs > provenMs ? 0 : Math.min(Math.max(pauseMs * 2, firstPauseMs), lastPauseMs);
      await this.rest(pauseMs * (0.5 + Math.random())).catch(() => undefined);
    }
  }

  /** Until the connection is lost, which is always an error. */
  private async serve(): Promise<void> {
    const { url, channel, answerMs, testMs } = this.settings;
    const socket = new Socket();
    const client = new Client({
      connectionString: url,
      application_name: 'openbot wake',
      stream: () => socket,
      // A hint is sent while a test is on its way.
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
    });
    this.socket = socket;
    let over = false;
    // A client says that it ended after the next one has begun: by then it may interrupt nothing, the pause before a new try least of all.
    const lost = (error: Error): void => {
      if (!over) this.interrupt?.(error);
    };
    client.on('error', lost);
    client.on('end', () => lost(new Error('the server closed the connection')));
    client.on('notification', ({ payload = '' }) => this.hear(payload));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      this.client = client;
      this.listensSince = performance.now();
      this.events.listening();
      for (;;) {
        await this.test();
        await this.rest(testMs);
      }
    } finally {
      over = true;
      this.client = null;
      this.interrupt?.(new Error('the connection is gone'));
      // Not `end`: it would wait for a silent peer. The server sees the closed socket.
      socket.destroy();
    }
  }

  private hear(payload: string): void {
    if (payload === this.awaited?.payload) this.awaited.heard();
    this.events.received(payload);
  }

  private async test(): Promise<void> {
    const payload = this.events.nextTest();
    const heard = this.interruptible<void>((resolve, reject) => {
      this.awaited = { payload, heard: resolve };
      const late = setTimeout(() => {
        // One turn of the loop more: after a long block the answer may lie in the socket, read by nobody yet.
        setImmediate(() => setImmediate(() => reject(new SilentConnection('the connection does not hear itself'))));
      }, this.settings.answerMs);
      return () => clearTimeout(late);
    });
    try {
      await Promise.all([heard, this.notify([payload])]);
    } finally {
      this.awaited = null;
    }
  }

  private rest(ms: number): Promise<void> {
    return this.interruptible<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      return () => clearTimeout(timer);
    });
  }

  /** A wait that the loss of the connection, or closing, ends with an error. One at a time. */
  private interruptible<T>(begin: (resolve: (value: T) => void, reject: (error: Error) => void) => () => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let tidy = (): void => undefined;
      const done = (): void => {
        tidy();
        if (this.interrupt === interrupt) this.interrupt = null;
      };
      const interrupt = (error: Error): void => {
        done();
        reject(error);
      };
      this.interrupt = interrupt;
      tidy = begin((value) => {
        done();
        resolve(value);
      }, interrupt);
    });
  }
}
