import { AsyncLocalStorage } from 'node:async_hooks';
import { HttpException, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteClass } from '@domain/access/route-classes.js';
import { Config } from '@platform/config/config.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { AheadTokens } from './ahead-tokens.js';
import { sourceOf } from './source-of.js';
import { bucketOf, type Policy, type Taken } from './take-from.js';

/** What is counted for people, programs and keys; `unauthenticated` is an address whose credentials did not count. */
export type LimitClass = RouteClass | 'unauthenticated';

const windowMs = 60_000;
/** A stream that may not be opened is for the client to close another first; no clock says when. */
const streamRetryMs = 1_000;

/** Requests that a request makes of the server itself: the one that was made from outside has been counted. */
export const countedAlready = new AsyncLocalStorage<true>();

export const rateLimited = (name: LimitClass, retryAfterMs: number): HttpException =>
  new HttpException({ _tag: 'RateLimited', message: 'You do this too often. Try again after the time in Retry-After.', class: name, retryAfterMs }, 429);

const seconds = (ms: number): number => Math.ceil(ms / 1_000);

/** Counts requests, for all nodes together, and open streams, for this one. */
@Injectable()
export class RequestLimiter {
  private readonly tokens: AheadTokens;
  private readonly streams = new Map<string, number>();

  constructor(
    db: DataSource,
    private readonly sealer: Sealer,
    private readonly config: Config,
  ) {
    this.tokens = new AheadTokens(db);
  }

  /** Lets a principal's request through, or throws `RateLimited`; either way the answer says what is left. */
  async admit(reply: FastifyReply, name: RouteClass, { organizationId, memberId }: { organizationId: string; memberId: string }): Promise<void> {
    if (countedAlready.getStore()) return;
    const policy = this.policyOf(name);
    if (policy) {
      const taken = await this.tokens.take(bucketOf(this.sealer.platform, 'request', organizationId, memberId, name), policy);
      show(reply, name, policy, taken);
      if (!taken.allowed) throw rateLimited(name, taken.retryAfterMs);
    }
    if (name === 'stream') this.holdStream(reply, `${organizationId}:${memberId}`);
  }

  /**
   * For a credential that did not count, after it was looked up. One that does is never refused for its address: behind a proxy or a company's gateway
   * everybody has the same. So this spares no look-up and stops no guessing, which 192 bits do: it tells a client that goes on with a lost token when to
   * come again, and what a client does wrong in a loop shows as 429.
   */
  async refused(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const policy = this.policyOf('unauthenticated');
    if (!policy || countedAlready.getStore()) return;
    const taken = await this.tokens.take(bucketOf(this.sealer.platform, 'unauthenticated', sourceOf(request.ip)), policy);
    show(reply, 'unauthenticated', policy, taken);
    if (!taken.allowed) throw rateLimited('unauthenticated', taken.retryAfterMs);
  }

  private policyOf(name: LimitClass): Policy | null {
    const limit = this.config.limits[name];
    return limit === 0 ? null : { limit, windowMs };
  }

  /** Until the connection's answer is over, also where it becomes no stream. */
  private holdStream({ raw }: FastifyReply, principal: string): void {
    const { openStreams } = this.config;
    const open = this.streams.get(principal) ?? 0;
    if (openStreams !== 0 && open >= openStreams) throw rateLimited('stream', streamRetryMs);
    this.streams.set(principal, open + 1);
    raw.once('close', () => {
      const left = (this.streams.get(principal) ?? 1) - 1;
      if (left > 0) this.streams.set(principal, left);
      else this.streams.delete(principal);
    });
  }
}

/** As draft-ietf-httpapi-ratelimit-headers has it: a quota `q` for `w` seconds, of which `r` are left, and all again after `t` seconds. */
function show(reply: FastifyReply, name: LimitClass, { limit, windowMs: window }: Policy, { remaining, resetMs }: Taken): void {
  void reply.header('ratelimit-policy', `"${name}";q=${limit};w=${seconds(window)}`).header('ratelimit', `"${name}";r=${remaining};t=${seconds(resetMs)}`);
}
