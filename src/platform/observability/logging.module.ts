import type { IncomingMessage, ServerResponse } from 'node:http';
import { LoggerModule } from 'nestjs-pino';
import type { Options } from 'pino-http';
import { v7 as uuidv7 } from 'uuid';
import { Config } from '@platform/config/config.js';

/** What the framework says of its own start: of use to those who change the server, not to those who run it. */
const frameworkContexts = new Set(['InstanceLoader', 'NestApplication', 'NestFactory', 'RouterExplorer', 'RoutesResolver']);
const infoLevel = 30;
const maxPathLength = 200;

/** An error in a line is its kind and its code. Messages and stacks may quote inputs and secrets: they go into the sealed record. */
const errorFields = (error: Error & { code?: unknown }): object => ({ type: error.name, ...(typeof error.code === 'string' ? { code: error.code } : {}) });

/** Somebody may have put one where an id belongs. */
const credentialText = /ob[a-z]_[A-Za-z0-9_-]{20,}/g;

function requestFields(request: IncomingMessage, response: ServerResponse, { durationMs }: { durationMs: number }): object {
  const path = request.url?.split('?', 1)[0]?.replace(credentialText, '[credential]').slice(0, maxPathLength);
  return { method: request.method, path, status: response.statusCode, durationMs };
}

/** JSON lines of ids and codes: no headers, no bodies, no query strings, no messages of errors. Requests are lines in production alone. */
export const logOptions = ({ logLevel, production }: Pick<Config, 'logLevel' | 'production'>): Options => ({
  level: logLevel,
  genReqId: (request) => request.id ?? uuidv7(),
  quietReqLogger: true,
  quietResLogger: true,
  customAttributeKeys: { reqId: 'requestId', responseTime: 'durationMs' },
  // A failure has a line of its own with its error id, so a failed request is logged as every other.
  customLogLevel: () => (production ? 'info' : 'debug'),
  customSuccessMessage: () => 'request',
  customErrorMessage: () => 'request',
  customSuccessObject: (request, response, fields: { durationMs: number }) => requestFields(request, response, fields),
  customErrorObject: (request, response, _error, fields: { durationMs: number }) => requestFields(request, response, fields),
  serializers: { err: errorFields },
  wrapSerializers: false,
  hooks: {
    logMethod(line, log, level) {
      const context = (line as readonly unknown[])[0] as { context?: string } | undefined;
      if (level === infoLevel && frameworkContexts.has(context?.context ?? '')) return;
      log.apply(this, line);
    },
  },
});

/** On Fastify the default routes match nothing: the pattern is named. */
export const loggedRoutes = ['{*splat}'];

/** `app.useLogger(app.get(Logger))`, with `Logger` of nestjs-pino, sends Nest's own lines the same way. */
export const LoggingModule = LoggerModule.forRootAsync({ inject: [Config], useFactory: (config: Config) => ({ forRoutes: loggedRoutes, pinoHttp: logOptions(config) }) });
