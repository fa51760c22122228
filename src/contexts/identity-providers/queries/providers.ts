import type { ProviderKind, ProviderSettings } from '@domain/identity-providers/provider.js';
import type { ReadTx, Tx } from '@engine/tx.js';

/** What the document of a row holds: all but what has a column. */
export type StoredSettings = Omit<ProviderSettings, 'name' | 'enabled'>;
export type ProviderRow = {
  readonly id: string;
  readonly kind: ProviderKind;
  readonly name: string;
  readonly enabled: boolean;
  readonly settings: StoredSettings;
  readonly has_secret: boolean;
  readonly revision: number;
  readonly created_at: Date;
  readonly updated_at: Date;
};
export type ProviderWithSecret = ProviderRow & { readonly sealed_secret: Buffer | null };

const columns = `id, kind, name, enabled, settings, sealed_secret is not null as has_secret, revision, created_at, updated_at`;
const there = `organization_id = tenant_organization() and deleted_at is null`;

export const toSettings = ({ name, enabled, settings }: ProviderRow): ProviderSettings => ({ name, enabled, ...settings });

/** The oldest first. `after`: the id behind which the page begins. */
export const listProviders = (tx: ReadTx, page: { readonly after: string | null; readonly limit: number }): Promise<ProviderRow[]> =>
  tx.query<ProviderRow[]>(`select ${columns} from identity_provider where ${there} and ($1::uuid is null or id > $1) order by id limit $2`, [page.after, page.limit]);

export async function findProvider(tx: ReadTx, id: string): Promise<ProviderRow | null> {
  const [row] = await tx.query<ProviderRow[]>(`select ${columns} from identity_provider where ${there} and id = $1`, [id]);
  return row ?? null;
}

export async function lockProvider(tx: Tx, id: string): Promise<ProviderRow | null> {
  const [row] = await tx.query<ProviderRow[]>(`select ${columns} from identity_provider where ${there} and id = $1 for no key update`, [id]);
  return row ?? null;
}

/** One that people may sign in by, with its sealed secret. */
export async function findEnabledProvider(tx: ReadTx, id: string): Promise<ProviderWithSecret | null> {
  const [row] = await tx.query<ProviderWithSecret[]>(`select ${columns}, sealed_secret from identity_provider where ${there} and enabled and id = $1`, [id]);
  return row ?? null;
}

export type Choice = { readonly organization_id: string; readonly organization_name: string; readonly provider_id: string; readonly provider_name: string };

/** Who vouches for the addresses of a domain, in whatever organization has shown it to be its own. */
export const findProvidersOfDomain = (tx: ReadTx, domain: string): Promise<Choice[]> => tx.query<Choice[]>(`select * from providers_of_domain($1)`, [domain]);

/** By whom people sign in to the organization of the transaction. */
export const findChoices = (tx: ReadTx): Promise<Choice[]> =>
  tx.query<Choice[]>(
    `select o.id as organization_id, o.name as organization_name, p.id as provider_id, p.name as provider_name
     from identity_provider p join organization o on o.id = p.organization_id
     where p.organization_id = tenant_organization() and p.deleted_at is null and p.enabled order by p.id limit 20`,
  );
