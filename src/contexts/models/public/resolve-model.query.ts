import { Query } from '@nestjs/cqrs';
import type { Model } from '@core/model.js';
import type { ChatModelInvalid, ModelSelection } from '@domain/models/catalog.js';
import type { Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';

/** Which stored key a model is called with, and as of which revision of its connection. */
export type SecretReference = { readonly connectionId: string; readonly revision: number };
export type ResolvedModel = Model & { readonly secret?: SecretReference };

/** The model behind a selection, ready to be called; `null` takes the platform's default. Asked anew for every call, so that a removed model is gone at once. */
export class ResolveModelQuery extends Query<Result<ResolvedModel, ChatModelInvalid>> {
  constructor(
    readonly context: TenantContext,
    readonly selection: Omit<ModelSelection, '_tag'> | null,
  ) {
    super();
  }
}
