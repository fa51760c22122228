import { Query } from '@nestjs/cqrs';
import type { MemberKind } from '@domain/access/credentials.js';
import type { OrganizationRole } from '@domain/access/roles.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { ReadTx } from '@engine/tx.js';

/** Whose word it is that a member may do nothing: each takes back its own alone. */
export const suspenders = ['administrator', 'directory'] as const;
export type Suspender = (typeof suspenders)[number];

export type Member = {
  readonly id: string;
  readonly kind: MemberKind;
  readonly name: string;
  readonly email: string | null;
  readonly role: OrganizationRole;
  readonly suspended: boolean;
  /** Empty where they are not. */
  readonly suspendedBy: readonly Suspender[];
  /** The identity provider whose directory stopped them: a UUID. */
  readonly stoppedBy: string | null;
  readonly revision: number;
  readonly createdAt: Date;
};

export type ServiceAccount = Omit<Member, 'email' | 'kind' | 'suspendedBy' | 'stoppedBy'>;
/** Who somebody is; the mirror of an API key bears the key's name. */
export type NamedMember = Pick<Member, 'id' | 'name' | 'email'>;

/** The members among `ids` that this organization has, in no order; of mirrors of API keys those in the project of the context. `tx` reads in the caller's transaction. */
export class FindMembersQuery extends Query<readonly NamedMember[]> {
  constructor(
    readonly context: TenantContext,
    readonly ids: readonly string[],
    readonly tx?: ReadTx,
  ) {
    super();
  }
}

/** Null also for a person: who looks for a service account finds nobody else. */
export class FindServiceAccountQuery extends Query<ServiceAccount | null> {
  constructor(
    readonly context: TenantContext,
    readonly id: string,
  ) {
    super();
  }
}

/** A person or a service account; null for a removed one. `tx` reads in the caller's transaction. */
export class FindMemberQuery extends Query<Member | null> {
  constructor(
    readonly context: TenantContext,
    readonly id: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}

/** People and service accounts among `ids` that were not removed, in no order. */
export class FindStandingsQuery extends Query<readonly Member[]> {
  constructor(
    readonly ids: readonly string[],
    readonly tx: ReadTx,
  ) {
    super();
  }
}

/** Whether people removed somebody with this address, who comes back by an invitation alone. */
export class WasRemovedQuery extends Query<boolean> {
  constructor(
    readonly email: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}

/** The person with this address in this organization, whatever its case: at most one has it. */
export class FindPersonByEmailQuery extends Query<Member | null> {
  constructor(
    readonly context: TenantContext,
    readonly email: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}
