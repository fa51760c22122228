import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { fail, ok, type Result } from '@domain/result.js';
import type { SignInLimited } from '@domain/sign-in/sign-in.js';
import { sourceOf } from '@platform/limits/source-of.js';
import { bucketOf, takeFrom, type Policy } from '@platform/limits/take-from.js';
import { Sealer } from '@platform/secrets/sealer.js';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

/**
 * The narrow bounds are of an account and a source together, so that a stranger elsewhere locks nobody out; the more is tried, the longer the time between
 * two tries. The wide ones bound one source over all accounts, and one account over all sources but those that its owner has come from of late.
 */
const ofSource: Policy = { limit: 100, windowMs: 10 * minute };
const ofAccountFromSource: readonly Policy[] = [
  { limit: 10, windowMs: 10 * minute },
  { limit: 60, windowMs: day },
];
const ofAccount: Policy = { limit: 100, windowMs: hour };
/** A stranger who goes on and on is told of now and then, or the log would be theirs to fill. */
const told: Policy = { limit: 1, windowMs: 10 * minute };

export type Attempt = { readonly organizationId: string; readonly email: string; readonly address: string; readonly sourceIsKnown: boolean };

/** How often passwords are tried, on all nodes together and whether there is such an account or not. */
@Injectable()
export class SignInAttempts {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  /** Counts an attempt before it is made, whatever becomes of it: many at once get no more tries. */
  async take({ organizationId, email, address, sourceIsKnown }: Attempt): Promise<Result<null, SignInLimited>> {
    const source = sourceOf(address);
    const account = [organizationId, email.toLowerCase()] as const;
    const wanted: readonly (readonly [Policy, Buffer])[] = [
      [ofSource, this.bucket('sign-in from', source)],
      ...ofAccountFromSource.map((policy) => [policy, this.bucket('sign-in', ...account, source, String(policy.windowMs))] as const),
      ...(sourceIsKnown ? [] : [[ofAccount, this.bucket('sign-in of', ...account)] as const]),
    ];
    for (const [policy, name] of wanted) {
      const { allowed, retryAfterMs } = await takeFrom(this.db, { bucket: name, policy });
      if (!allowed) return fail({ _tag: 'SignInLimited', retryAfterMs });
    }
    return ok(null);
  }

  /** Whether being put off is worth telling: the first time in a while for this account and source. */
  async isNews({ organizationId, email, address }: Attempt): Promise<boolean> {
    return (await takeFrom(this.db, { bucket: this.bucket('sign-in told', organizationId, email.toLowerCase(), sourceOf(address)), policy: told })).allowed;
  }

  private bucket(kind: string, ...who: string[]): Buffer {
    return bucketOf(this.sealer.platform, kind, ...who);
  }
}
