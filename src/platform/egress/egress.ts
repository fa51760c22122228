import { lookup as resolve, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, Headers, fetch as send, type RequestInit, type Response } from 'undici';
import { fail, ok, type Result } from '@domain/result.js';
import { allowsAddress, allowsHost, type AddressPolicy } from './address-policy.js';
import { limitAnswer } from './answer-limit.js';

/** Why a request was not sent, or its answer not followed. `host` is the one that was named, not what it resolved to. */
export type EgressRefusal = {
  readonly _tag: 'EgressRefused';
  readonly reason: 'not-a-url' | 'scheme' | 'credentials' | 'address' | 'redirect';
  readonly host: string;
};
export type EgressFailure =
  | EgressRefusal
  | { readonly _tag: 'EgressTooLarge'; readonly maxBytes: number }
  | { readonly _tag: 'EgressTimedOut'; readonly timeoutMs: number }
  | { readonly _tag: 'EgressUnreachable'; readonly cause: unknown };

/** Thrown by `fetch`, whose contract knows no other way. */
export class EgressRefusedError extends Error {
  constructor(readonly refusal: EgressRefusal) {
    super(`the request to ${refusal.host || 'this address'} is refused: ${refusal.reason}`);
  }
}

const refuse = (reason: EgressRefusal['reason'], host = ''): EgressRefusal => ({ _tag: 'EgressRefused', reason, host });
const redirects = new Set([301, 302, 303, 307, 308]);

/** What the text of a URL alone can say. */
export function checkUrl(policy: AddressPolicy, text: string | URL): Result<URL, EgressRefusal> {
  const url = tryUrl(String(text));
  if (!url) return fail(refuse('not-a-url'));
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return fail(refuse('scheme', url.hostname));
  if (url.username !== '' || url.password !== '') return fail(refuse('credentials', url.hostname));
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A literal address is never looked up, so that nothing later would judge it.
  if (isIP(host) !== 0 && !allowsHost(policy, host) && !allowsAddress(policy, host)) return fail(refuse('address', host));
  return ok(url);
}

function tryUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Resolves for the socket itself: the address that was judged is the one that is connected to, whatever DNS says a moment later. */
export const guardedLookup =
  (policy: AddressPolicy): LookupFunction =>
  (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return done(error, []);
      const [first] = addresses;
      // One private address among public ones is enough to refuse: the resolver's order must not decide.
      const allowed = first !== undefined && (allowsHost(policy, host) || addresses.every(({ address }) => allowsAddress(policy, address)));
      if (!allowed) return done(new EgressRefusedError(refuse('address', host)), []);
      return options.all ? done(null, addresses) : done(null, first.address, first.family);
    });
  };

function withTrace(given: RequestInit['headers'], trace: string): Headers {
  const headers = new Headers(given);
  headers.set('traceparent', trace);
  return headers;
}

function refusalIn(error: unknown): EgressRefusedError | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof EgressRefusedError) return cause;
    const parts: unknown[] = cause instanceof AggregateError ? cause.errors : [];
    const refused = parts.find((part) => part instanceof EgressRefusedError);
    if (refused instanceof EgressRefusedError) return refused;
  }
  return null;
}

export type BoundedRequest = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
};
export type BoundedResponse = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };

/** The one way out of the process to addresses that people name. A class because it holds the pool of guarded connections. */
export class Egress {
  private readonly pool: Agent;

  /** `traceTo`: the `traceparent` that a host gets, or `null`; others learn nothing of who caused a request. */
  constructor(
    private readonly policy: AddressPolicy,
    private readonly traceTo: (host: string) => string | null = () => null,
  ) {
    this.pool = new Agent({ connect: { lookup: guardedLookup(policy), timeout: 10_000 }, autoSelectFamily: true });
  }

  /** The standard `fetch` for streams, whose body ends with an `AnswerLimitError` where it would never end. Throws `EgressRefusedError`. */
  readonly fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => limitAnswer(await this.open(input, init));

  /** No redirect is followed: its target was judged by nobody. */
  private readonly open = async (input: string | URL, init: RequestInit): Promise<Response> => {
    const url = checkUrl(this.policy, input);
    if (!url.ok) throw new EgressRefusedError(url.failure);
    try {
      const trace = this.traceTo(url.value.hostname);
      const headers = trace === null ? init.headers : withTrace(init.headers, trace);
      const response = await send(url.value, { ...init, ...(headers ? { headers } : {}), redirect: 'manual', dispatcher: this.pool });
      if (!redirects.has(response.status)) return response;
      await response.body?.cancel();
      throw new EgressRefusedError(refuse('redirect', url.value.hostname));
    } catch (error) {
      throw refusalIn(error) ?? error;
    }
  };

  /** Judges an address before it is stored. A name that does not resolve now passes: it is judged again at every connection. */
  async check(text: string): Promise<EgressRefusal | null> {
    const url = checkUrl(this.policy, text);
    if (!url.ok) return url.failure;
    const host = url.value.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0) return null;
    return new Promise((settle) => {
      guardedLookup(this.policy)(host, { all: true }, (error) => settle(error instanceof EgressRefusedError ? error.refusal : null));
    });
  }

  /** A whole, small answer: at most `maxBytes` of body within `timeoutMs`, its reading included. */
  async request(text: string, request: BoundedRequest): Promise<Result<BoundedResponse, EgressFailure>> {
    const { maxBytes, timeoutMs } = request;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline;
    try {
      const response = await this.open(text, { method: request.method ?? 'GET', headers: { ...request.headers }, body: request.body ?? null, signal });
      const body = await readAtMost(response, maxBytes);
      if (body === null) return fail({ _tag: 'EgressTooLarge', maxBytes });
      return ok({ status: response.status, headers: Object.fromEntries(response.headers), body });
    } catch (error) {
      if (error instanceof EgressRefusedError) return fail(error.refusal);
      if (deadline.aborted) return fail({ _tag: 'EgressTimedOut', timeoutMs });
      return fail({ _tag: 'EgressUnreachable', cause: error });
    }
  }

  close(): Promise<void> {
    return this.pool.destroy();
  }
}

async function readAtMost(response: Response, maxBytes: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop cancels the body, and with it the connection.
    if (size > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
