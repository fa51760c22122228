import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { DataSource } from 'typeorm';
import type { ModelCatalog, ModelSelection } from '@domain/models/catalog.js';
import { read } from '@platform/database/transact.js';
import { modelsDatabase } from '../models-database.js';
import { BuiltInModels } from '../providers/built-in-models.js';
import { DefaultModelQuery } from '../public/default-model.query.js';
import { ListModelsQuery } from '../public/list-models.query.js';
import { catalogOf } from './connection-catalog.js';
import { listConnections } from './connections.js';

/** A list to choose from, not to page through: more connections than this are not offered in it. */
const maxConnections = 200;

@QueryHandler(ListModelsQuery)
export class ListModelsHandler implements IQueryHandler<ListModelsQuery> {
  constructor(
    @Inject(modelsDatabase) private readonly db: DataSource,
    private readonly builtIn: BuiltInModels,
  ) {}

  async execute({ context }: ListModelsQuery): Promise<ModelCatalog> {
    const rows = await read(this.db, context, (tx) => listConnections(tx, context.organizationId, { after: null, limit: maxConnections }));
    const connected = catalogOf(rows);
    return {
      providers: [...this.builtIn.catalog.providers, ...connected.providers],
      models: [...this.builtIn.catalog.models, ...connected.models],
    };
  }
}

@QueryHandler(DefaultModelQuery)
export class DefaultModelHandler implements IQueryHandler<DefaultModelQuery> {
  constructor(private readonly builtIn: BuiltInModels) {}

  execute(): Promise<ModelSelection | null> {
    return Promise.resolve(this.builtIn.default);
  }
}
