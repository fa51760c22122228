import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { DataSource } from 'typeorm';
import { selectModel, type ChatModelInvalid, type ModelSelection } from '@domain/models/catalog.js';
import { fail, ok, type Result } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import { read } from '@platform/database/transact.js';
import { Egress } from '@platform/egress/egress.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { Sealer } from '@platform/secrets/sealer.js';
import { keyBinding } from '../policies/connection-key.js';
import { modelsDatabase } from '../models-database.js';
import { BuiltInModels } from '../providers/built-in-models.js';
import { connectModel } from '../providers/sdk-models.js';
import { ResolveModelQuery, type ResolvedModel } from '../public/resolve-model.query.js';
import { catalogOf } from './connection-catalog.js';
import { findConnectionWithKey } from './connections.js';

@QueryHandler(ResolveModelQuery)
export class ResolveModelHandler implements IQueryHandler<ResolveModelQuery> {
  constructor(
    @Inject(modelsDatabase) private readonly db: DataSource,
    private readonly builtIn: BuiltInModels,
    private readonly sealer: Sealer,
    private readonly egress: Egress,
  ) {}

  async execute({ context, selection }: ResolveModelQuery): Promise<Result<ResolvedModel, ChatModelInvalid>> {
    const chosen = selection ?? this.builtIn.default;
    if (!chosen) return fail({ _tag: 'ChatModelInvalid', reason: 'model-not-found' });
    if (!this.builtIn.has(chosen.provider)) return this.connected(context, chosen);
    const entry = selectModel(this.builtIn.catalog, chosen);
    return entry.ok ? ok(this.builtIn.model(entry.value)) : entry;
  }

  private async connected(context: TenantContext, chosen: Omit<ModelSelection, '_tag'>): Promise<Result<ResolvedModel, ChatModelInvalid>> {
    const { organizationId } = context;
    const id = fromPublicId('connection', chosen.provider);
    if (id === null) return fail({ _tag: 'ChatModelInvalid', reason: 'provider-not-found' });
    const key = await this.sealer.keyOf(organizationId);
    const row = await read(this.db, context, (tx) => findConnectionWithKey(tx, organizationId, id));
    if (!row) return fail({ _tag: 'ChatModelInvalid', reason: 'provider-not-found' });
    const entry = selectModel(catalogOf([row]), chosen);
    if (!entry.ok) return entry;
    const apiKey = row.sealed_key && key.open(keyBinding(id), row.sealed_key).toString('utf8');
    const model = connectModel({ provider: chosen.provider, kind: row.kind, api: row.api, baseUrl: row.base_url, apiKey }, entry.value, this.egress);
    return ok(apiKey === null ? model : { ...model, secret: { connectionId: id, revision: row.revision } });
  }
}
