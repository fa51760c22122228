import { Query } from '@nestjs/cqrs';
import type { ModelCatalog } from '@domain/models/catalog.js';
import type { TenantContext } from '@domain/tenancy.js';

/** Every model that the organization may choose: the built-in ones, those of the environment, those of its connections. */
export class ListModelsQuery extends Query<ModelCatalog> {
  constructor(readonly context: TenantContext) {
    super();
  }
}
