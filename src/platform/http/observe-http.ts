import type { INestApplication } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '@platform/observability/metrics.js';
import { metricsToken, tracingToken } from '@platform/observability/observers.js';
import type { TracedRequest, Tracing } from '@platform/observability/tracing.js';

const routeOf = (request: FastifyRequest): string | null => request.routeOptions.url ?? null;
const isStream = (reply: FastifyReply): boolean => String(reply.raw.getHeader('content-type') ?? '').startsWith('text/event-stream');

/** Measures and traces every request. Before the routes are made; without anybody who looks it adds nothing. */
export function observeHttp(app: INestApplication, server: FastifyInstance): void {
  const metrics = app.get<Metrics | null>(metricsToken, { strict: false });
  const tracing = app.get<Tracing | null>(tracingToken, { strict: false });
  if (!metrics && !tracing) return;
  const traced = new WeakMap<FastifyRequest, TracedRequest>();

  server.addHook('onRequest', (request, reply, done) => {
    const startedAt = performance.now();
    const header = request.headers['traceparent'];
    const span = tracing?.request(request.method, typeof header === 'string' ? header : undefined);
    if (span) traced.set(request, span);
    // Of the connection's answer and not of the framework's reply: a stream takes the reply over, and a client may go before there is one.
    reply.raw.once('close', () => {
      const [route, status] = [routeOf(request), reply.raw.statusCode];
      span?.end({ route, status });
      if (!isStream(reply)) metrics?.answered({ method: request.method, route: route ?? 'none', status, ms: performance.now() - startedAt });
    });
    done();
  });
  // The last step before the route's own code: reading a body has left the flow of control that the request began in.
  server.addHook('preHandler', (request, _reply, done) => {
    const span = traced.get(request);
    if (span) span.run(done);
    else done();
  });
}
