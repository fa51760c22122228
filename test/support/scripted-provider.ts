import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as yieldTurn, setTimeout as pause } from 'node:timers/promises';
import { wireEvents, type Api, type ScriptedStream } from './scripted-provider-wire.js';

/** A whole answer instead of a stream: a rate limit, an outage, a bad request. */
export type ScriptedError = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
  readonly type?: string;
  readonly code?: string;
};
export type ScriptedAnswer = ScriptedStream | ScriptedError;

export type RecordedRequest = {
  /** Milliseconds on the monotonic clock of this process. */
  readonly at: number;
  readonly path: string;
  readonly api: Api;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { readonly model: string; readonly stream?: boolean } & Readonly<Record<string, unknown>>;
  /** Resolves when the answer is sent or its connection is gone, with which of the two. */
  readonly closed: Promise<'sent' | 'aborted'>;
};

const apis: readonly (readonly [suffix: string, api: Api])[] = [
  ['/responses', 'responses'],
  ['/chat/completions', 'chat'],
  ['/messages', 'messages'],
];

/**
 * A model provider over real HTTP that says what a test tells it to, in the dialect of the path that is asked: Responses, chat completions,
 * Messages. Answers are used up in order; `whenAsked` decides by the request instead, for tests with many conversations at once.
 */
export class ScriptedProvider {
  readonly requests: RecordedRequest[] = [];
  private readonly answers: ScriptedAnswer[] = [];
  private readonly watchers = new Set<() => void>();
  private decide: ((request: RecordedRequest) => ScriptedAnswer | null) | null = null;

  private constructor(
    private readonly server: Server,
    /** For `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL`. */
    readonly url: string,
  ) {}

  static async start(): Promise<ScriptedProvider> {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
    const provider = new ScriptedProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    server.on('request', (request, response) => void provider.serve(request, response).catch(() => response.destroy()));
    return provider;
  }

  /** The next answers, in order. */
  answer(...answers: readonly ScriptedAnswer[]): void {
    this.answers.push(...answers);
  }

  whenAsked(decide: ((request: RecordedRequest) => ScriptedAnswer | null) | null): void {
    this.decide = decide;
  }

  /** The request number `count`, as soon as it has come. */
  async request(count: number): Promise<RecordedRequest> {
    while (this.requests.length < count) await new Promise<void>((come) => this.watchers.add(come));
    return this.requests[count - 1]!;
  }

  reset(): void {
    this.requests.length = 0;
    this.answers.length = 0;
    this.decide = null;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await this.record(incoming, response);
    const answer = this.decide?.(request) ?? this.answers.shift() ?? { status: 400, message: 'No answer is scripted for this request.', type: 'invalid_request_error' };
    if ('status' in answer) return sendError(response, request.api, answer);
    await sendStream(response, request.api, answer);
  }

  private async record(incoming: IncomingMessage, response: ServerResponse): Promise<RecordedRequest> {
    const at = performance.now();
    const path = (incoming.url ?? '').split('?')[0]!;
    const api = apis.find(([suffix]) => path.endsWith(suffix))?.[1];
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    if (!api) throw new Error(`no interface at ${path}`);
    const closed = new Promise<'sent' | 'aborted'>((settle) => response.once('close', () => settle(response.writableFinished ? 'sent' : 'aborted')));
    const text = Buffer.concat(chunks).toString('utf8');
    const request = { at, path, api, headers: incoming.headers, text, body: JSON.parse(text) as RecordedRequest['body'], closed };
    this.requests.push(request);
    for (const come of this.watchers) come();
    this.watchers.clear();
    return request;
  }
}

const requestIdHeader: Readonly<Record<Api, string>> = { responses: 'x-request-id', chat: 'x-request-id', messages: 'request-id' };

function sendError(response: ServerResponse, api: Api, answer: ScriptedError): void {
  const error = { message: answer.message ?? 'scripted', type: answer.type ?? 'scripted_error', ...(answer.code === undefined ? {} : { code: answer.code }) };
  response.writeHead(answer.status, { 'content-type': 'application/json', [requestIdHeader[api]]: 'req_failed', ...answer.headers });
  response.end(JSON.stringify(api === 'messages' ? { type: 'error', error } : { error }));
}

const isWord = /output_text\.delta|"delta":\{"content"|text_delta/;

async function sendStream(response: ServerResponse, api: Api, script: ScriptedStream): Promise<void> {
  if (script.delayMs !== undefined) await pause(script.delayMs);
  await script.until;
  response.socket?.setNoDelay(true);
  response.writeHead(200, { 'content-type': 'text/event-stream', [requestIdHeader[api]]: script.requestId ?? 'req_scripted' });
  response.flushHeaders();
  for (const part of partsOf(wireEvents[api](script), script.pieceBytes)) {
    if (response.destroyed) return;
    response.write(part);
    const ms = script.pauseMs ?? (isWord.test(part.toString()) ? script.wordMs : undefined);
    // A turn of the loop, so that the parts leave one by one.
    await (ms === undefined ? yieldTurn() : pause(ms));
  }
  if (script.end === 'cut') response.socket?.destroy();
  else if (script.end !== 'hold') response.end();
}

function partsOf(events: readonly string[], pieceBytes: number | undefined): Uint8Array[] {
  if (pieceBytes === undefined) return events.map((event) => Buffer.from(event));
  const whole = Buffer.from(events.join(''));
  return Array.from({ length: Math.ceil(whole.length / pieceBytes) }, (_, index) => whole.subarray(index * pieceBytes, (index + 1) * pieceBytes));
}
