import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { transportProblem } from './transport-problems.js';

export const bodyLimitBytes = 1_048_576;
const maxParamLength = 256;

const statusOfSocketError = (code: string | undefined): number => {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
};

/** What is no HTTP request never reaches a route; it gets a typed answer all the same. */
function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const { status, body } = transportProblem(statusOfSocketError(error.code));
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n`;
  if (socket.writable) socket.write(head + text);
  socket.destroySoon();
}

/** The adapter that `NestFactory.create` gets: limits and answers of the layer below Nest. What a proxy says of its client counts where the proxy is trusted. */
export const httpAdapter = (trustedProxies: readonly string[] = []): FastifyAdapter =>
  new FastifyAdapter({
    logger: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: bodyLimitBytes,
    genReqId: () => uuidv7(),
    routerOptions: { maxParamLength },
    clientErrorHandler: refuseConnection,
    // What arrives on an open connection of a closing server is answered as ever, and the connection ends with it. Fastify's own 503 has neither name nor id.
    return503OnClosing: false,
    frameworkErrors: (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) => {
      const { status, body } = transportProblem(error.statusCode ?? 400);
      void reply.code(status).type('application/json; charset=utf-8').send(body);
    },
  });
