import { setTimeout as pause } from 'node:timers/promises';
import type { LocalIdentity } from '@test/support/server-process.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers are looked at field by field */
type Server = Pick<LocalIdentity, 'url' | 'token'>;
type Answer = { readonly status: number; readonly body: any };

/** What a client saw of one message, from its sending to the end state. */
export type Turn = {
  readonly executionId: string;
  readonly chat: string;
  /** The end state of the log. */
  readonly state: string;
  /** The sequences of the log as this reader knows it in the end. */
  readonly sequences: readonly number[];
  /** When the reader got each of them, on the monotonic clock of this process. */
  readonly heardAt: readonly number[];
  /** Events that a failover took back, by 409 CursorAhead. */
  readonly forgotten: number;
  /** Receipts of work that is not there any more. */
  readonly lost: number;
};

const isWhole503 = (response: Response, body: any): boolean =>
  response.headers.get('retry-after') === '1' &&
  /^err_/.test(response.headers.get('openbot-error-id') ?? '') &&
  ['RequestFailed', 'ChatStorageUnavailable'].includes(body._tag) &&
  body.category === 'storage_unavailable' &&
  body.errorId === response.headers.get('openbot-error-id');

/** Clients as they should be: every command with its key until it is answered, every log from the last sequence, at any server that runs. */
export class Load {
  /** How often each answer was got. */
  readonly answers: Record<string, number> = {};
  private next = 0;
  private sending = 0;
  private readonly senders: (() => void)[] = [];

  /** `sendersAtOnce`: not all of many people send in the same moment. */
  constructor(
    private readonly servers: () => readonly Server[],
    private readonly sendersAtOnce = 30,
  ) {}

  /** A bot of its own for each conversation, so that their turns run beside each other. */
  async createBots(count: number): Promise<string[]> {
    const model = { provider: 'openai', model: 'scripted' };
    return Promise.all(Array.from({ length: count }, async (_, n) => (await this.inTurn(() => this.ask('POST', '/v1/bots', { name: `Bot ${n}`, model }))).body.id as string));
  }

  /** Sends a message and reads its log to the end. */
  async turn(bot: string, input: string): Promise<Turn> {
    const reader = new LogReader(this);
    for (let lost = 0; ; lost += 1) {
      const { status, body } = await this.inTurn(() => this.ask('POST', `/v1/bots/${bot}/messages`, { input, commandKey: `${bot}-${input}` }));
      if (status !== 202) throw new Error(`a message was answered ${status}: ${JSON.stringify(body)}`);
      const state = await reader.read(body.executionId as string);
      if (state === null) continue;
      return { executionId: body.executionId, chat: body.chat, state, sequences: reader.sequences, heardAt: reader.heardAt, forgotten: reader.forgotten, lost };
    }
  }

  private async inTurn(send: () => Promise<Answer>): Promise<Answer> {
    if (this.sending >= this.sendersAtOnce) await new Promise<void>((resolve) => this.senders.push(resolve));
    else this.sending += 1;
    try {
      return await send();
    } finally {
      // The place goes to the next who waits, or is free.
      const next = this.senders.shift();
      if (next) next();
      else this.sending -= 1;
    }
  }

  /** Until something else than an outage answers. */
  async ask(method: string, path: string, body?: object): Promise<Answer> {
    for (;;) {
      const answer = await this.once(path, { method, ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}) });
      const found = answer && { status: answer.status, body: await answer.json().catch(() => null) };
      // A body that breaks off is no answer.
      if (answer && found?.body !== null && found?.status !== 503) return found as Answer;
      await pause(50 + Math.random() * 150);
    }
  }

  /** `null`: nobody is there. */
  async once(
    path: string,
    init: { readonly method: string; readonly body?: string; readonly headers?: Record<string, string>; readonly signal?: AbortSignal },
  ): Promise<Response | null> {
    const servers = this.servers();
    const server = servers[(this.next += 1) % servers.length];
    if (!server) return null;
    const headers = { authorization: `Bearer ${server.token}`, ...init.headers };
    const response = await fetch(server.url + path, { ...init, headers }).catch(() => null);
    if (!response) return (this.count('no connection'), null);
    if (response.status < 400) this.count(String(response.status));
    else {
      const body: any = await response.clone().json().catch(() => ({})); // prettier-ignore
      const whole = response.status === 503 && isWhole503(response, body) ? 'with id and Retry-After' : String(body._tag);
      this.count(`${response.status} ${whole}`);
    }
    return response;
  }

  count(answer: string): void {
    this.answers[answer] = (this.answers[answer] ?? 0) + 1;
  }
}

/** Follows one log over any number of streams. */
class LogReader {
  sequences: number[] = [];
  readonly heardAt: number[] = [];
  forgotten = 0;

  constructor(private readonly load: Load) {}

  /** Answers the end state, or `null` when the log is gone. */
  async read(executionId: string): Promise<string | null> {
    const taken = { state: null as string | null };
    for (;;) {
      const response = await this.load.once(`/v1/executions/${executionId}/observe`, { method: 'GET', headers: { 'last-event-id': String(this.sequences.at(-1) ?? 0) } });
      if (response?.status === 404) {
        await response.body?.cancel();
        this.forgotten += this.sequences.length;
        this.sequences = [];
        return null;
      }
      if (response?.status === 409) this.forget(((await response.json()) as { sequence: number }).sequence);
      else if (response?.status === 200) await this.follow(response, taken);
      else await response?.body?.cancel();
      if (taken.state !== null) return taken.state;
      await pause(50 + Math.random() * 150);
    }
  }

  private async follow(response: Response, taken: { state: string | null }): Promise<void> {
    let rest = '';
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const frames = (rest + chunk).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) this.take(frame, taken);
      }
    } catch {
      // The server is gone: the cursor says where to go on.
    }
  }

  private take(frame: string, taken: { state: string | null }): void {
    const data = frame.split('\n').find((line) => line.startsWith('data: '))?.slice(6); // prettier-ignore
    if (!data) return;
    const event: any = JSON.parse(data);
    if (frame.includes('event: failure')) return this.load.count(`stream ended: ${event._tag} ${event.category}`);
    this.heardAt.push(performance.now());
    this.sequences.push(event.sequence as number);
    if (event.body._tag === 'State' && ['completed', 'failed', 'cancelled', 'interrupted'].includes(event.body.state as string)) taken.state = event.body.state;
  }

  private forget(after: number): void {
    const kept = this.sequences.filter((sequence) => sequence <= after);
    this.forgotten += this.sequences.length - kept.length;
    this.sequences = kept;
  }
}

/** The longest time between two events of a turn that touches this time. */
function pauseOf({ heardAt }: Turn, from: number, to: number): number {
  return heardAt.reduce((longest, at, n) => (n > 0 && at > from && heardAt[n - 1]! < to ? Math.max(longest, at - heardAt[n - 1]!) : longest), 0);
}

/** How long turns stood still for their readers. */
export function pauses(turns: readonly Turn[], from = 0, to = Infinity): string {
  const sorted = turns.map((turn) => pauseOf(turn, from, to)).sort((a, b) => a - b);
  const share = (part: number): number => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return `longest pause of a turn p50 ${share(0.5)} ms, p95 ${share(0.95)} ms, max ${share(1)} ms`;
}

/** One line of what was measured. */
export const summary = (what: string, turns: readonly Turn[], { answers }: Load): string => `${what}: ${turns.length} turns, ${pauses(turns)}; answers ${JSON.stringify(answers)}`;
