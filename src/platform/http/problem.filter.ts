import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SafeFailure } from '@domain/executions/failures.js';
import { ProjectClosed } from '@platform/database/transact.js';
import type { Identity } from '@platform/identity/identity.js';
import { RightLost } from '@platform/identity/right-lost.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ErrorRecords } from '@platform/observability/error-records.js';
import type { KnownRoutes } from './known-routes.js';
import { scimErrorOf, scimType, speaksScim } from './scim-error.js';
import { bodyOf, permissionMissing, transportProblem } from './transport-problems.js';

export const errorIdHeader = 'openbot-error-id';
const retryAfterSeconds = 1;

/** What a client sees of an unexpected failure, as a response and as the last event of a stream. */
export const requestFailed = ({ category, errorId }: SafeFailure) => ({
  _tag: 'RequestFailed' as const,
  message: category === 'storage_unavailable' ? 'The database does not answer at the moment. Try again.' : 'The request failed. Quote the error id to your operator.',
  category,
  errorId: toPublicId('error', errorId),
});

const declared = (exception: HttpException): object | null => {
  const body = exception.getResponse();
  return typeof body === 'object' && typeof (body as { _tag?: unknown })._tag === 'string' ? body : null;
};

/** The request was let in before the end of the project, the right or the credential, and came to its first write after: it is answered as if it had come after. */
function lostMeanwhile(exception: unknown): { readonly status: number; readonly body: object } | null {
  if (exception instanceof ProjectClosed) return { status: 404, body: bodyOf('ProjectNotFound') };
  if (!(exception instanceof RightLost)) return null;
  return exception.permission === null ? { status: 401, body: bodyOf('Unauthenticated') } : { status: 403, body: permissionMissing(exception.permission) };
}

type IdentifiedRequest = FastifyRequest & { readonly identity?: Identity };

/** Errors of the HTTP layer below the controllers carry the status of the client's fault. */
const clientStatus = (exception: unknown): number | null => {
  const status: unknown = exception instanceof HttpException ? exception.getStatus() : (exception as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : null;
};

/** The one boundary of all routes: declared problems pass, everything else becomes an id. No text from inside leaves the server. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly records: ErrorRecords,
    private readonly routes: KnownRoutes,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<IdentifiedRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent || reply.raw.headersSent) {
      // The answer has begun: nothing typed can follow, so the connection ends where the client notices.
      this.records.record(exception, originOf(request));
      reply.raw.destroy();
      return;
    }
    const known = exception instanceof HttpException ? declared(exception) : null;
    const late = lostMeanwhile(exception);
    if (known) this.send(reply, (exception as HttpException).getStatus(), known);
    else if (late) this.send(reply, late.status, late.body);
    else this.sendUndeclared(exception, request, reply);
  }

  private sendUndeclared(exception: unknown, request: IdentifiedRequest, reply: FastifyReply): void {
    const status = clientStatus(exception);
    if (status === 404) this.sendMissing(request, reply);
    else if (status !== null) {
      const problem = transportProblem(status);
      this.send(reply, problem.status, problem.body);
    } else {
      const failure = requestFailed(this.records.record(exception, originOf(request)));
      this.send(reply, failure.category === 'storage_unavailable' ? 503 : 500, failure);
    }
  }

  private sendMissing(request: FastifyRequest, reply: FastifyReply): void {
    const allowed = this.routes.allowed(request.url.split('?', 1)[0] ?? '');
    if (allowed.length === 0) this.send(reply, 404, bodyOf('RouteNotFound'));
    else this.send(reply.header('allow', allowed.join(', ')), 405, bodyOf('MethodNotAllowed'));
  }

  /** A failure with an id says it in a header too, whether its route has a name for it or not; one that passes by itself says when to come back. */
  private send(reply: FastifyReply, status: number, body: object): void {
    const { errorId, category, retryAfterMs } = body as Partial<SafeFailure> & { readonly retryAfterMs?: number };
    if (errorId !== undefined) void reply.header(errorIdHeader, errorId);
    if (category === 'storage_unavailable') void reply.header('retry-after', String(retryAfterSeconds));
    if (retryAfterMs !== undefined) void reply.header('retry-after', String(Math.ceil(retryAfterMs / 1_000)));
    if (status === 401) void reply.header('www-authenticate', 'Bearer');
    if (speaksScim(reply.request.url))
      void reply
        .code(status)
        .type(`${scimType}; charset=utf-8`)
        .send(JSON.stringify(scimErrorOf(status, body)));
    else void reply.code(status).type('application/json; charset=utf-8').send(body);
  }
}

const originOf = (request: IdentifiedRequest) => ({
  organizationId: request.identity?.context.organizationId ?? null,
  projectId: request.identity?.context.projectId ?? null,
});
