import { modelEntry, type ModelCatalog } from '@domain/models/catalog.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { ConnectionRow } from './connections.js';

/** A connection is a provider under its own id: two connections to one vendor do not mix. */
export function catalogOf(connections: readonly ConnectionRow[]): ModelCatalog {
  const named = connections.map((row) => ({ id: toPublicId('connection', row.id), row }));
  return {
    providers: named.map(({ id, row }) => ({ id, name: row.name })),
    models: named.flatMap(({ id, row }) => row.models.map((model) => modelEntry(id, model.id, model))),
  };
}
