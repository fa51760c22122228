import { Query } from '@nestjs/cqrs';
import type { OrganizationRole } from '@domain/access/roles.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx } from '@engine/tx.js';

export type Member = {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: OrganizationRole;
  readonly suspended: boolean;
  readonly revision: number;
  readonly createdAt: Date;
};

/** The members among `ids` that this organization has, in no order. `tx` reads in the caller's transaction. */
export class FindMembersQuery extends Query<readonly Member[]> {
  constructor(
    readonly context: TenantContext,
    readonly ids: readonly string[],
    readonly tx?: ReadTx,
  ) {
    super();
  }
}
