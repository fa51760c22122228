import { once } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { SafeFailure } from '@domain/executions/failures.js';
import { invalidInput } from './invalid-input.js';
import { requestFailed } from './problem.filter.js';

const heartbeatMs = 15_000;
/** A client that takes nothing for this long is gone, whatever its connection says. */
const drainMs = 30_000;
/** What may wait in memory for one client, also when its sender does not await. */
const maxBufferedBytes = 1_048_576;

export type EventStream = {
  /** Aborts when the client is gone, the server closes, or `end` or `fail` was called. */
  readonly closed: AbortSignal;
  /** Writes one event. Resolves when the client takes more, and at once for a closed stream: ask `closed` before the next. */
  send(id: string | number, event: string, data: unknown): Promise<void>;
  /** As `send`, for frames that were encoded with `encodeFrame`: readers of the same events share the text. */
  sendFrames(frames: string): Promise<void>;
  /** The last event of a stream that cannot go on: `failure`, with the fields of RequestFailed. */
  fail(failure: SafeFailure): void;
  end(): void;
};

/**
 * Where a stream goes on that comes back with its `Last-Event-ID`. The header wins: it is what the client got last, while the URL may be as old as its
 * first connection.
 */
export function resumeAfter(afterUrl: number, lastEventId: string | string[] | undefined, max: number): number {
  if (lastEventId === undefined || lastEventId === '') return afterUrl;
  const last = typeof lastEventId === 'string' && /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : Infinity;
  if (last > max) throw invalidInput('Last-Event-ID', `must be an integer from 0 to ${max}`);
  return last;
}

type ServerStreams = { readonly open: Set<() => void>; closing: boolean };
const streamsOf = new WeakMap<object, ServerStreams>();

/** Open streams, and those that come while it closes, would keep a server open for ever. Their readers come back with the last id that they saw. */
export function endStreamsOnClose(server: FastifyInstance): void {
  const streams: ServerStreams = { open: new Set(), closing: false };
  streamsOf.set(server.server, streams);
  server.addHook('preClose', (done) => {
    streams.closing = true;
    for (const end of [...streams.open]) end();
    done();
  });
}

/** One event as it goes over the wire. `json` is encoded already: JSON text holds no line break. */
export const encodeFrame = (event: string, json: string, id?: string | number): string => `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`;

/** Takes the reply over and begins a stream of server-sent events. Rights and arguments are checked before: afterwards nothing typed can be answered. */
export function openEventStream(request: FastifyRequest, reply: FastifyReply): EventStream {
  const { raw } = reply;
  const closing = new AbortController();
  const streams = streamsOf.get(request.server.server);

  void reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Proxies that gather responses would hold the events back.
    'x-accel-buffering': 'no',
  });
  raw.write(': open\n\n');

  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': heartbeat\n\n');
  }, heartbeatMs);
  heartbeat.unref();

  const close = (): void => {
    if (closing.signal.aborted) return;
    clearInterval(heartbeat);
    streams?.open.delete(end);
    closing.abort();
  };
  const end = (): void => {
    close();
    raw.end();
  };
  const write = async (frames: string): Promise<void> => {
    if (closing.signal.aborted) return;
    // What waits from before counts, not this one: a single large event must reach a client that reads.
    if (raw.writableLength > maxBufferedBytes) raw.destroy();
    else if (!raw.write(frames)) await drained(raw, closing.signal);
  };
  raw.once('close', close);
  raw.once('error', close);
  streams?.open.add(end);
  if (raw.destroyed) close();
  else if (streams?.closing) end();

  return {
    closed: closing.signal,
    end,
    send: async (id, event, data) => write(encodeFrame(event, JSON.stringify(data), id)),
    sendFrames: write,
    fail(failure) {
      if (closing.signal.aborted) return;
      raw.write(encodeFrame('failure', JSON.stringify(requestFailed(failure))));
      end();
    },
  };
}

async function drained(raw: FastifyReply['raw'], closed: AbortSignal): Promise<void> {
  const late = setTimeout(() => raw.destroy(), drainMs);
  late.unref();
  try {
    await once(raw, 'drain', { signal: closed });
  } catch {
    // Closed while it waited: `closed` says so.
  } finally {
    clearTimeout(late);
  }
}
