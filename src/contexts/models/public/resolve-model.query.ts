import { Query } from '@nestjs/cqrs';
import type { Model } from '@core/model.js';
import type { ChatModelInvalid, ModelSelection } from '@domain/models/catalog.js';
import type { Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';

/** The model behind a selection, ready to be called; `null` takes the platform's default. Asked anew for every call, so that a removed model is gone at once. */
export class ResolveModelQuery extends Query<Result<Model, ChatModelInvalid>> {
  constructor(
    readonly context: TenantContext,
    readonly selection: Omit<ModelSelection, '_tag'> | null,
  ) {
    super();
  }
}
