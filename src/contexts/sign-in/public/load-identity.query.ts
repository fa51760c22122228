import { Query } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

/**
 * The identity of a credential that was proven before, as it and its member are now: `null` once either no longer counts. A session that its owner
 * left, or that ran out, ends what reads by it and not the `work` that was begun in it; one that was revoked ends both.
 */
export class LoadIdentityQuery extends Query<Identity | null> {
  constructor(
    readonly context: TenantContext,
    readonly tokenId: string,
    readonly tx?: ReadTx,
    readonly of: 'request' | 'work' = 'request',
  ) {
    super();
  }
}
