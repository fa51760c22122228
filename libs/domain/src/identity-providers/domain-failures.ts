export type DomainInvalid = { readonly _tag: 'DomainInvalid'; readonly field: 'domain' };
export type DomainNotFound = { readonly _tag: 'DomainNotFound' };
export type DomainClaimed = { readonly _tag: 'DomainClaimed'; readonly field: 'domain' };
/** `found`: how many records there are at the name, none of which is the wanted one. */
export type DomainUnproven = { readonly _tag: 'DomainUnproven'; readonly name: string; readonly value: string; readonly found: number };
/** DNS did not answer. */
export type DomainUnreachable = { readonly _tag: 'DomainUnreachable'; readonly retryAfterMs: number };
