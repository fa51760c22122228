import type { KeyedCommand } from '@engine/admit.js';
import type { Sealing } from '@engine/sealing.js';
import { serviceScope, type ServiceIdentity } from '@engine/service-identity.js';
import type { Identity } from './identity.js';

/** Raised when the canonical form changes: an old receipt then conflicts instead of matching another input. */
const inputVersion = 1;

const sorted = (_: string, value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

/** One text for all spellings of a value: keys in order, members without a value left out. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sorted);

/**
 * Names a command of the member by its key and its normalized input: `input` holds everything that makes it this command (what is
 * addressed too), so that the same key on another resource is another input. Call it before a transaction is open: it may load a key.
 */
export const keyed = (sealing: Sealing, { context, memberId }: Pick<Identity, 'context' | 'memberId'>, key: string, input: object): Promise<KeyedCommand> =>
  keyedIn(sealing, context.organizationId, memberId, key, input);

/** As `keyed`, for a command of a service: its keys have a scope of their own, and no member's key is ever one of them. */
export const keyedByService = (sealing: Sealing, { service, context }: ServiceIdentity, key: string, input: object): Promise<KeyedCommand> =>
  keyedIn(sealing, context.organizationId, serviceScope(service), key, input);

async function keyedIn(sealing: Sealing, organizationId: string, scopeId: string, key: string, input: object): Promise<KeyedCommand> {
  const secret = await sealing.keyOf(organizationId);
  return {
    scopeId,
    key,
    keyMac: secret.mac(`command-key\n${scopeId}\n${key}`),
    inputMac: secret.mac(`command-input\n${inputVersion}\n${canonicalJson(input)}`),
  };
}
