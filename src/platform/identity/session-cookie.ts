import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Browsers take a cookie of this name only over HTTPS (or from this machine), for this host alone and for all its paths: no neighbour can plant one. */
export const sessionCookie = '__Host-openbot_session';
const fixed = { name: sessionCookie, path: '/', httpOnly: true, secure: true, sameSite: 'lax' } as const;

/** A session that has begun. `id` is its credential's (a UUID); `secret` is the credential itself: nothing can read it again. */
export type BegunSession = { readonly id: string; readonly organizationId: string; readonly memberId: string; readonly secret: string; readonly expiresAt: Date };

/** The session that a request carries, whatever it is worth. */
export const sessionOf = ({ headers }: FastifyRequest): string | null => (headers.cookie === undefined ? null : parseCookie(headers.cookie)[sessionCookie] || null);

/** Hands a session to the browser, which forgets it when it is over at the latest. */
export const keepSession = (reply: FastifyReply, session: string, expiresAt: Date): void =>
  void reply.header('set-cookie', stringifySetCookie({ ...fixed, value: session, expires: expiresAt }));

export const forgetSession = (reply: FastifyReply): void => void reply.header('set-cookie', stringifySetCookie({ ...fixed, value: '', maxAge: 0 }));
