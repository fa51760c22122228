import { Query } from '@nestjs/cqrs';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx } from '@engine/tx.js';
import type { Identity } from '@platform/identity/identity.js';

/** The identity that stored work goes on with, as its token and member are now: `null` once either no longer counts. */
export class LoadIdentityQuery extends Query<Identity | null> {
  constructor(
    readonly context: TenantContext,
    readonly tokenId: string,
    readonly tx?: ReadTx,
  ) {
    super();
  }
}
