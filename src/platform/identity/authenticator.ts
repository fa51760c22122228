import type { Identity } from './identity.js';

/** Turns a credential into an identity. The sign-in context provides it; `null` is any credential that does not count, for whatever reason. */
export abstract class Authenticator {
  /** `projectId`: the project that the path names, if it does; else the identity acts in the first that the credential names, or the earliest. */
  abstract authenticate(bearer: string, projectId: string | null): Promise<Identity | null>;
}
