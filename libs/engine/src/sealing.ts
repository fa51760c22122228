/** What a sealed value is bound to; opening it under another binding fails. */
export type Binding = { readonly table: string; readonly record: string };

/** The opened data key of one organization. Synchronous, so that the per-step path never waits for it. */
export interface OrganizationKey {
  seal(binding: Binding, plain: string | Buffer): Buffer;
  /** Throws when the value was changed or belongs elsewhere: corrupt data is a failure, never an outage. */
  open(binding: Binding, sealed: Buffer): Buffer;
  /** HMAC of command keys and inputs: a plain hash of a short input could be guessed. */
  mac(text: string): Buffer;
}

/** The engine's view of the platform's secrets. */
export interface Sealing {
  /** The key is loaded once and kept; only the first call for an organization waits for the database. */
  keyOf(organizationId: string): OrganizationKey | Promise<OrganizationKey>;
}
