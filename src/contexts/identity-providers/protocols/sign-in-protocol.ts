import type { Assertion } from '@domain/identity-providers/admission.js';
import type { OidcSettings } from '@domain/identity-providers/provider.js';
import type { Result } from '@domain/result.js';

/** A provider with its secret opened: for the protocol alone. */
export type OpenProvider = { readonly id: string; readonly revision: number; readonly settings: OidcSettings; readonly secret: string | null };

/** A way to the provider and back. `state` comes back as it was sent; `callbackUrl` is where to. */
export type Way = { readonly state: string; readonly callbackUrl: string };
/** `kept` is what the answer is held to. It is stored sealed, and nobody but the protocol reads it. */
export type Departure = { readonly url: string; readonly kept: string };

/** `kept`: what ends the provider's session too, and asks it again; stored sealed. `askAgainMs`: when to; `null`: it cannot be asked. */
export type Arrival = { readonly assertion: Assertion; readonly providerSession: string | null; readonly kept: string; readonly askAgainMs: number | null };

/** `provider_denied`: somebody there said no. `provider_refused`: it does not know us, or this request. `answer_invalid`: what came is not what it would have signed. */
export type ProviderFailed = {
  readonly _tag: 'ProviderFailed';
  readonly reason: 'provider_unreachable' | 'provider_denied' | 'provider_refused' | 'answer_invalid';
  readonly cause: unknown;
};

/** What a provider says by itself: these sessions are over. A subject alone means all of theirs. */
export type ProviderLogout = { readonly subject: string | null; readonly providerSession: string | null };

/** How people are sent to a provider, and what comes back is believed. Every call may go to the network, and none is made inside a transaction. */
export interface SignInProtocol {
  begin(provider: OpenProvider, way: Way, address: string | null): Promise<Result<Departure, ProviderFailed>>;
  /** `answer`: the address at which the browser came back, with its query. */
  finish(provider: OpenProvider, way: Way, kept: string, answer: URL): Promise<Result<Arrival, ProviderFailed>>;
  /** `provider_refused`: the provider has ended it. */
  askAgain(provider: OpenProvider, kept: string, subject: string): Promise<Result<Arrival, ProviderFailed>>;
  /** Where a browser signs out there as well; `null`: nowhere. */
  leave(provider: OpenProvider, kept: string, returnUrl: string): Promise<string | null>;
  readLogout(provider: OpenProvider, token: string): Promise<Result<ProviderLogout, ProviderFailed>>;
}
