import type { Identity } from './identity.js';

/** Turns a credential into an identity. The sign-in context provides it; `null` is any credential that does not count, for whatever reason. */
export abstract class Authenticator {
  abstract authenticate(bearer: string): Promise<Identity | null>;
}
