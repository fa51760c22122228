import { checkProvider, type IdentityProviderInvalid, type IdentityProviderNameTaken, type ProviderSettings } from '@domain/identity-providers/provider.js';
import { fail, type Result } from '@domain/result.js';
import type { Egress } from '@platform/egress/egress.js';

/** The rules of a provider, and whether its address may be reached: asked before a transaction, because names are looked up. */
export async function checkReachableProvider(egress: Egress, wanted: ProviderSettings, production: boolean): Promise<Result<ProviderSettings, IdentityProviderInvalid>> {
  const checked = checkProvider(wanted, production);
  if (!checked.ok) return checked;
  const refusal = await egress.check(wanted.issuer);
  return refusal ? fail({ _tag: 'IdentityProviderInvalid', field: 'issuer', reason: `must be an address that this server may reach (${refusal.reason})` }) : checked;
}

/** Two requests may take one name at once: the index decides, and the loser learns it from the error. */
export async function withProviderName<R extends Result<unknown, unknown>>(work: () => Promise<R>): Promise<R | Result<never, IdentityProviderNameTaken>> {
  try {
    return await work();
  } catch (error) {
    if ((error as { constraint?: string } | null)?.constraint === 'identity_provider_has_its_name') return fail({ _tag: 'IdentityProviderNameTaken', field: 'name' });
    throw error;
  }
}
