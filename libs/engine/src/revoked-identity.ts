/** The signal of work that was stopped because the right to act was taken from whom it acts for. A stop was asked in the same transaction. */
export const identityRevoked = 'identity-revoked';

/** They stay until the end, for whoever owns the work next; no saga sees them. */
export const stopSignals: readonly string[] = ['cancel', identityRevoked];

export class IdentityRevoked extends Error {
  constructor() {
    super('the identity that the work acts with was revoked');
  }
}
