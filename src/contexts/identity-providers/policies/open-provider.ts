import type { OrganizationKey } from '@engine/sealing.js';
import type { OpenProvider } from '../protocols/sign-in-protocol.js';
import type { ProviderWithSecret } from '../queries/providers.js';
import { secretBinding } from './bindings.js';

/** With the secret as it is used: for a protocol alone, and for no longer than one question. */
export const openProvider = ({ id, revision, settings, sealed_secret }: ProviderWithSecret, key: OrganizationKey): OpenProvider => ({
  id,
  revision,
  settings,
  secret: sealed_secret && key.open(secretBinding(id), sealed_secret).toString('utf8'),
});
