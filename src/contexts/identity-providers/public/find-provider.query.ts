import { Query } from '@nestjs/cqrs';
import type { AdmissionRules } from '@domain/identity-providers/provider.js';
import type { ReadTx } from '@engine/tx.js';

/** `rules`: what its people and groups become here. */
export type FoundProvider = { readonly id: string; readonly enabled: boolean; readonly rules: AdmissionRules };

/** An identity provider of the organization that was not deleted. */
export class FindProviderQuery extends Query<FoundProvider | null> {
  constructor(
    readonly id: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}

/** Whether the domain of an address was shown to be the organization's, and this provider speaks for it. */
export class SpeaksForQuery extends Query<boolean> {
  constructor(
    readonly providerId: string,
    readonly email: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}

/** Whether a member signs in by another identity provider that is still there. */
export class SignsInElsewhereQuery extends Query<boolean> {
  constructor(
    readonly providerId: string,
    readonly memberId: string,
    readonly tx: ReadTx,
  ) {
    super();
  }
}
