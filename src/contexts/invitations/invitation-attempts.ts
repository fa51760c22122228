import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { InvitationLimited } from '@domain/organizations/invitation.js';
import { fail, ok, type Result } from '@domain/result.js';
import { sourceOf } from '@platform/limits/source-of.js';
import { bucketOf, takeFrom, type Policy } from '@platform/limits/take-from.js';
import { Sealer } from '@platform/secrets/sealer.js';

/** No secret is guessed at this rate or any other: it bounds the work that a stranger can make for us. */
export const invitationsFromSource: Policy = { limit: 100, windowMs: 10 * 60_000 };

/** How often links are looked at and taken from one place, on all nodes together and whether there is such an invitation or not. */
@Injectable()
export class InvitationAttempts {
  constructor(
    private readonly db: DataSource,
    private readonly sealer: Sealer,
  ) {}

  async take(address: string): Promise<Result<null, InvitationLimited>> {
    const bucket = bucketOf(this.sealer.platform, 'invitation from', sourceOf(address));
    const { allowed, retryAfterMs } = await takeFrom(this.db, { bucket, policy: invitationsFromSource });
    return allowed ? ok(null) : fail({ _tag: 'InvitationLimited', retryAfterMs });
  }
}
