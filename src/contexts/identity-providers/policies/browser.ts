import { createHash, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Tells which browser began an attempt: nobody else's browser finishes it, so that no stranger signs somebody in as themselves. */
const name = '__Host-openbot_sign_in';
const form = /^[A-Za-z0-9_-]{32}$/;
const lifeSeconds = 3_600;

const hashOf = (value: string): Buffer => createHash('sha256').update(value).digest();

/** The hash of what the browser keeps; `null`: it keeps nothing of ours. */
export function browserOf({ headers }: FastifyRequest): Buffer | null {
  const value = headers.cookie === undefined ? undefined : parseCookie(headers.cookie)[name];
  return value !== undefined && form.test(value) ? hashOf(value) : null;
}

/** The same for all attempts of one browser, so that two tabs do not disturb each other. */
export function markBrowser(request: FastifyRequest, reply: FastifyReply): Buffer {
  const kept = request.headers.cookie === undefined ? undefined : parseCookie(request.headers.cookie)[name];
  const value = kept !== undefined && form.test(kept) ? kept : randomBytes(24).toString('base64url');
  void reply.header('set-cookie', stringifySetCookie({ name, value, path: '/', httpOnly: true, secure: true, sameSite: 'lax', maxAge: lifeSeconds }));
  return hashOf(value);
}
