import type { FastifyRequest } from 'fastify';
import { sessionOf } from './session-cookie.js';

/** Who comes to sign in, as far as the request shows it: nothing of it proves anything. `session`: what the browser still has. */
export type Visitor = { readonly userAgent: string | null; readonly address: string; readonly session: string | null };

/** Characters that columns hold. */
const [longestUserAgent, longestAddress] = [300, 64];

export const visitorOf = (request: FastifyRequest): Visitor => ({
  userAgent: request.headers['user-agent']?.replace(/[^\x20-\x7e]/g, '?').slice(0, longestUserAgent) || null,
  address: request.ip.slice(0, longestAddress),
  session: sessionOf(request),
});
