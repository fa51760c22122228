import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Attributes, type Context, type Span, type SpanContext, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider, RandomIdGenerator, type IdGenerator } from '@opentelemetry/sdk-trace-node';
import type { Head, ReadyFor } from '@engine/head.js';
import type { EngineObserver, ObservedOutcome } from '@engine/observer.js';
import type { Config } from '@platform/config/config.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { formatTraceparent, parseTraceparent } from './traceparent.js';
import type { TracedRequest, Tracing } from './tracing.js';

const closingMs = 3_000;

/** Of what runs now. One for the process: whoever asks has at most one flow of control. */
const active = new AsyncLocalStorage<Span>();

const named = (name: string, length: number): string => createHash('sha256').update(name).digest('hex').slice(0, length);

/** The span of one owner, by a name that every node knows: the next owner links to it, whatever became of the process that held it. */
const runSpanId = ({ id }: Head, generation: number): string => named(`${id}:${generation}`, 16);

/** The trace of work that was admitted in none, as by a process that does not trace: all its owners have the same. */
const ownTraceId = ({ id }: Head): string => named(id, 32);

class ChosenIds implements IdGenerator {
  private readonly random = new RandomIdGenerator();
  /** Of the span that is started next, in the same turn. */
  next: string | null = null;
  nextTrace: string | null = null;
  generateTraceId = (): string => {
    const id = this.nextTrace ?? this.random.generateTraceId();
    this.nextTrace = null;
    return id;
  };
  generateSpanId = (): string => {
    const id = this.next ?? this.random.generateSpanId();
    this.next = null;
    return id;
  };
}

const within = (parent: SpanContext | Span | null): Context => {
  if (!parent) return ROOT_CONTEXT;
  return 'traceId' in parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : trace.setSpan(ROOT_CONTEXT, parent);
};

const failed: ReadonlySet<ObservedOutcome> = new Set(['failed', 'unknown']);

/**
 * Traces by OpenTelemetry: from a request over the commits, phases and calls of all nodes that moved its work. Nothing is registered globally: two
 * servers of one process, as tests have them, do not see each other. Sampled as the parent says, `OTEL_TRACES_SAMPLER` decides where there is none.
 */
export function startTracing({ traces, nodeName, version }: Pick<Config, 'nodeName'> & { readonly traces: NonNullable<Config['traces']>; readonly version: string }): Tracing {
  const ids = new ChosenIds();
  const provider = new NodeTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({ 'service.name': traces.serviceName, 'service.version': version, 'service.instance.id': nodeName }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: traces.url }))],
  });
  const tracer = provider.getTracer('openbot', version);
  return {
    engine: engineSpans(tracer, ids),
    request: (method, traceparent) => requestSpan(tracer, method, traceparent),
    current: () => {
      const span = active.getStore();
      return span ? formatTraceparent(span.spanContext()) : null;
    },
    // An endpoint that does not answer keeps no process from leaving.
    close: () => Promise.race([provider.shutdown().catch(() => undefined), new Promise<void>((passed) => void setTimeout(passed, closingMs).unref())]),
  };
}

function requestSpan(tracer: Tracer, method: string, traceparent: string | undefined): TracedRequest {
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } }, within(parseTraceparent(traceparent)));
  return {
    run: (work) => active.run(span, work),
    end: ({ route, status }) => {
      if (route !== null) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
      span.setAttribute('http.response.status_code', status);
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function engineSpans(tracer: Tracer, ids: ChosenIds): EngineObserver {
  /** What happens to an execution while no phase of it runs belongs to its run. */
  const current = new WeakMap<Head, Span>();
  const runs = new WeakMap<Head, Span>();
  const waits = new WeakMap<Head, ReadyFor>();

  async function during<T>(head: Head, span: Span, work: () => Promise<T>): Promise<T> {
    const outer = current.get(head);
    current.set(head, span);
    try {
      return await active.run(span, work);
    } catch (error) {
      // The kind of an error, never its text: it may quote what it met.
      span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', error instanceof Error ? error.name : typeof error);
      throw error;
    } finally {
      if (outer) current.set(head, outer);
      span.end();
    }
  }

  function startRun(head: Head): Span {
    const admitted = parseTraceparent(head.trace);
    const ready = waits.get(head);
    const attributes: Attributes = {
      'openbot.execution': toPublicId('execution', head.id),
      'openbot.workflow': head.workflow,
      'openbot.generation': head.generation,
      'openbot.node': head.owner,
      'openbot.stalls': head.stalls,
      ...(ready ? { 'openbot.ready.since': ready.since, 'openbot.ready.ms': ready.ms } : {}),
    };
    const own = admitted ?? { traceId: ownTraceId(head), traceFlags: TraceFlags.SAMPLED, isRemote: true };
    const before = head.generation > 1 ? [{ context: { ...own, spanId: runSpanId(head, head.generation - 1) } }] : [];
    ids.next = runSpanId(head, head.generation);
    ids.nextTrace = admitted ? null : own.traceId;
    return tracer.startSpan(`run ${head.workflow}`, { kind: SpanKind.CONSUMER, attributes, links: before }, within(admitted));
  }

  return {
    claimed: (head, ready) => void (ready && waits.set(head, ready)),
    duringRun: (head, work) => {
      const span = startRun(head);
      runs.set(head, span);
      return during(head, span, work);
    },
    duringPhase: (head, phase, work) => during(head, tracer.startSpan(`phase ${phase}`, { attributes: { 'openbot.phase': phase } }, within(runs.get(head) ?? null)), work),
    duringCall: (head, { kind, safety, step, attempt }, work, outcomeOf, outcomeOfThrow) => {
      const attributes = { 'openbot.call.safety': safety, 'openbot.call.step': step, 'openbot.call.attempt': attempt };
      const parent = active.getStore() ?? runs.get(head) ?? null;
      const span = tracer.startSpan(`call ${kind}`, { kind: SpanKind.CLIENT, attributes }, within(parent));
      const tell = (outcome: ObservedOutcome): void => {
        span.setAttribute('openbot.call.outcome', outcome);
        if (failed.has(outcome)) span.setStatus({ code: SpanStatusCode.ERROR });
      };
      return during(head, span, async () => {
        try {
          const result = await work();
          tell(outcomeOf(result));
          return result;
        } catch (error) {
          tell(outcomeOfThrow());
          throw error;
        }
      });
    },
    committed: (head, { number, state, release, events, outcome }) =>
      void current
        .get(head)
        ?.addEvent('commit', { 'openbot.commit': number, 'openbot.state': state, 'openbot.release': release, 'openbot.events': events, 'openbot.outcome': outcome }),
    sent: () => undefined,
    tookOver: () => undefined,
    lostLease: () => undefined,
  };
}
