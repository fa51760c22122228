import type { KeyedCommand } from '@engine/admit.js';
import type { Sealing } from '@engine/sealing.js';
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
export async function keyed(sealing: Sealing, identity: Pick<Identity, 'context' | 'memberId'>, key: string, input: object): Promise<KeyedCommand> {
  const secret = await sealing.keyOf(identity.context.organizationId);
  return {
    scopeId: identity.memberId,
    key,
    keyMac: secret.mac(`command-key\n${identity.memberId}\n${key}`),
    inputMac: secret.mac(`command-input\n${inputVersion}\n${canonicalJson(input)}`),
  };
}
