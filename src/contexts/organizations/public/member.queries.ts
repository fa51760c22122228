import { Query } from '@nestjs/cqrs';
import type { MemberRole } from '@domain/organizations/member.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx } from '@engine/tx.js';

export type Member = {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: MemberRole;
  readonly suspended: boolean;
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

/** The project in which a credential acts that names none: the organization's earliest. */
export class FindDefaultProjectQuery extends Query<string | null> {
  constructor(
    readonly context: TenantContext,
    readonly tx?: ReadTx,
  ) {
    super();
  }
}
