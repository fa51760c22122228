import type { ConnectionApi, ConnectionKind, ConnectionModel, ConnectionSettings } from '@domain/models/connection.js';
import type { ReadTx, Tx } from '@engine/tx.js';

export type ConnectionRow = {
  readonly id: string;
  readonly kind: ConnectionKind;
  readonly name: string;
  readonly base_url: string | null;
  readonly api: ConnectionApi | null;
  readonly models: readonly ConnectionModel[];
  readonly has_key: boolean;
  readonly revision: number;
  readonly created_at: Date;
  readonly updated_at: Date;
};

const columns = `id, kind, name, base_url, api, models, sealed_key is not null as has_key, revision, created_at, updated_at`;

export const toSettings = (row: ConnectionRow): ConnectionSettings => ({
  kind: row.kind,
  name: row.name,
  baseUrl: row.base_url,
  api: row.api,
  models: row.models,
  hasKey: row.has_key,
});

/** The oldest first. `after`: the id behind which the page begins. */
export function listConnections(tx: ReadTx, organizationId: string, page: { readonly after: string | null; readonly limit: number }): Promise<ConnectionRow[]> {
  return tx.query<ConnectionRow[]>(
    `select ${columns} from model_connection
     where organization_id = $1 and deleted_at is null and ($2::uuid is null or id > $2) order by id limit $3`,
    [organizationId, page.after, page.limit],
  );
}

export async function findConnection(tx: ReadTx, organizationId: string, id: string): Promise<ConnectionRow | null> {
  const rows = await tx.query<ConnectionRow[]>(`select ${columns} from model_connection where organization_id = $1 and id = $2 and deleted_at is null`, [organizationId, id]);
  return rows[0] ?? null;
}

export async function lockConnection(tx: Tx, organizationId: string, id: string): Promise<ConnectionRow | null> {
  const rows = await tx.query<ConnectionRow[]>(`select ${columns} from model_connection where organization_id = $1 and id = $2 and deleted_at is null for no key update`, [
    organizationId,
    id,
  ]);
  return rows[0] ?? null;
}

/** The sealed key beside its connection, for those who call the provider. */
export async function findConnectionWithKey(tx: ReadTx, organizationId: string, id: string): Promise<(ConnectionRow & { readonly sealed_key: Buffer | null }) | null> {
  const rows = await tx.query<(ConnectionRow & { sealed_key: Buffer | null })[]>(
    `select ${columns}, sealed_key from model_connection where organization_id = $1 and id = $2 and deleted_at is null`,
    [organizationId, id],
  );
  return rows[0] ?? null;
}
