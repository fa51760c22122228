import { createHmac, timingSafeEqual } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

export const csrfHeader = 'openbot-csrf';

/** What a page of ours proves itself by: made of the session's secret, which no page can read, and of no use without it. */
export const csrfOf = (session: string): string => createHmac('sha256', session).update('openbot csrf').digest('base64url');

export const csrfMissing = { status: 403, message: `Send the header ${csrfHeader} with what signing in or GET /auth/session answered, from a page of this server.` };

/** Methods that change nothing are no use to a forger, who cannot read their answers. */
export const isSafe = (method: string): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);

/** A browser says where a request comes from, and no page can change what it says. Other clients say nothing. */
export function refuseOtherOrigins({ headers }: FastifyRequest, own: readonly string[]): void {
  const { origin, 'sec-fetch-site': site } = headers;
  const isOwn = (origin === undefined || own.includes(origin)) && (site === undefined || site === 'same-origin' || site === 'none');
  if (!isOwn) throw new HttpException({ _tag: 'CsrfMissing', message: csrfMissing.message }, csrfMissing.status);
}

/** Throws for a request that the browser's cookie alone would have let in. Takes the same time wherever the header differs. */
export function refuseForgery(request: FastifyRequest, session: string, own: readonly string[]): void {
  refuseOtherOrigins(request, own);
  const [wanted, given] = [Buffer.from(csrfOf(session)), Buffer.from(String(request.headers[csrfHeader] ?? ''))];
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw new HttpException({ _tag: 'CsrfMissing', message: csrfMissing.message }, csrfMissing.status);
}
