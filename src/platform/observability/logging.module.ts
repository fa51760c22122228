import type { IncomingMessage, ServerResponse } from 'node:http';
import { LoggerModule } from 'nestjs-pino';
import { v7 as uuidv7 } from 'uuid';
import { Config } from '@platform/config/config.js';

/** What the framework says of its own start: of use to those who change the server, not to those who run it. */
const frameworkContexts = new Set(['InstanceLoader', 'NestApplication', 'NestFactory', 'RouterExplorer', 'RoutesResolver', 'WebSocketsController']);
const infoLevel = 30;

/** An error in a line is its kind and its code. Messages and stacks may quote inputs and secrets: they go into the sealed record. */
const errorFields = (error: Error & { code?: unknown }): object => ({ type: error.name, ...(typeof error.code === 'string' ? { code: error.code } : {}) });

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0]?.slice(0, 200) ?? '';

/** JSON lines of ids and codes: no headers, no bodies, no query strings. */
export const LoggingModule = LoggerModule.forRootAsync({
  inject: [Config],
  useFactory: ({ logLevel, production }: Config) => ({
    forRoutes: ['{*splat}'],
    pinoHttp: {
      level: logLevel,
      genReqId: (request: IncomingMessage) => request.id ?? uuidv7(),
      quietReqLogger: true,
      quietResLogger: true,
      customAttributeKeys: { reqId: 'requestId', responseTime: 'durationMs' },
      // A failure has its own line with its error id, so a failed request is logged as every other.
      customLogLevel: () => (production ? 'info' : 'debug'),
      customSuccessMessage: () => 'request',
      customErrorMessage: () => 'request',
      customSuccessObject: (request: IncomingMessage, response: ServerResponse, { durationMs }: { durationMs: number }) => ({
        method: request.method,
        path: pathOf(request),
        status: response.statusCode,
        durationMs,
      }),
      customErrorObject: (request: IncomingMessage, response: ServerResponse, _: Error, { durationMs }: { durationMs: number }) => ({
        method: request.method,
        path: pathOf(request),
        status: response.statusCode,
        durationMs,
      }),
      serializers: { err: errorFields },
      wrapSerializers: false,
      hooks: {
        logMethod(line, log, level) {
          const [first] = line as unknown[];
          if (level === infoLevel && frameworkContexts.has((first as { context?: string } | undefined)?.context ?? '')) return;
          log.apply(this, line);
        },
      },
    },
  }),
});
