import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, customFetch as joseFetch, jwtVerify } from 'jose';
import * as client from 'openid-client';
import type { Assertion } from '@domain/identity-providers/admission.js';
import { fail, ok, type Result } from '@domain/result.js';
import { Egress, EgressRefusedError } from '@platform/egress/egress.js';
import type { Arrival, Departure, OpenProvider, ProviderFailed, ProviderLogout, SignInProtocol, Way } from './sign-in-protocol.js';

/** Clocks of companies differ; five minutes are what their other programs allow them. */
const clockToleranceSeconds = 300;
const timeoutSeconds = 10;
const discoveryLifeMs = 600_000;
const [soonestMs, latestMs] = [300_000, 3_600_000];
/** Characters: as long as the columns and pages that hold them. */
const [longestSubject, longestName, longestGroup, mostGroups] = [255, 100, 256, 1_000];
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

type Kept = { readonly nonce: string; readonly verifier: string };
type KeptTokens = { readonly idToken: string | null; readonly refreshToken: string | null };
type Tokens = Pick<Awaited<ReturnType<typeof client.authorizationCodeGrant>>, 'access_token' | 'id_token' | 'refresh_token' | 'expires_in'>;
type Claims = Readonly<Record<string, unknown>>;

/** OpenID Connect Core 1.0, code flow with PKCE (RFC 7636), by `openid-client`; RP-initiated and back-channel logout 1.0. */
@Injectable()
export class OidcProtocol implements SignInProtocol {
  private readonly found = new Map<string, { readonly revision: number; readonly at: number; readonly metadata: Promise<client.ServerMetadata> }>();

  constructor(private readonly egress: Egress) {}

  begin(provider: OpenProvider, { state, callbackUrl }: Way, address: string | null): Promise<Result<Departure, ProviderFailed>> {
    return attempt(async () => {
      const configuration = await this.discover(provider);
      const kept: Kept = { nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: callbackUrl,
        scope: provider.settings.scopes.join(' '),
        state,
        nonce: kept.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(kept.verifier),
        code_challenge_method: 'S256',
        ...(address === null ? {} : { login_hint: address }),
      });
      return { url: url.href, kept: JSON.stringify(kept) };
    });
  }

  finish(provider: OpenProvider, { state, callbackUrl }: Way, kept: string, answer: URL): Promise<Result<Arrival, ProviderFailed>> {
    return attempt(async () => {
      const configuration = await this.discover(provider);
      const { nonce, verifier } = JSON.parse(kept) as Kept;
      // The address is the one that was sent: what a proxy made of it is nothing to be compared with.
      const came = new URL(callbackUrl);
      came.search = answer.search;
      const tokens = await client.authorizationCodeGrant(configuration, came, { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true });
      const claims = tokens.claims();
      if (!claims) throw new Error('the answer has no ID token');
      return this.arrive(provider, configuration, tokens, claims);
    });
  }

  askAgain(provider: OpenProvider, kept: string, subject: string): Promise<Result<Arrival, ProviderFailed>> {
    return attempt(async () => {
      const configuration = await this.discover(provider);
      const { idToken, refreshToken } = JSON.parse(kept) as KeptTokens;
      if (refreshToken === null) throw new Error('there is nothing to ask with');
      const tokens = await client.refreshTokenGrant(configuration, refreshToken);
      const claims = tokens.claims() ?? { sub: subject };
      if (claims.sub !== subject) throw new Error('the answer is about somebody else');
      const arrival = await this.arrive(provider, configuration, tokens, claims);
      const now = JSON.parse(arrival.kept) as KeptTokens;
      // A provider may keep the token that it has given.
      return { ...arrival, kept: JSON.stringify({ idToken: now.idToken ?? idToken, refreshToken: now.refreshToken ?? refreshToken } satisfies KeptTokens) };
    });
  }

  async leave(provider: OpenProvider, kept: string, returnUrl: string): Promise<string | null> {
    const left = await attempt(async () => {
      const configuration = await this.discover(provider);
      if (!configuration.serverMetadata().end_session_endpoint) return null;
      const { idToken } = JSON.parse(kept) as KeptTokens;
      return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnUrl, ...(idToken ? { id_token_hint: idToken } : {}) }).href;
    });
    // A provider that cannot be reached keeps nobody from leaving here.
    return left.ok ? left.value : null;
  }

  readLogout(provider: OpenProvider, token: string): Promise<Result<ProviderLogout, ProviderFailed>> {
    return attempt(async () => {
      const { issuer, jwks_uri: keys, ...metadata } = (await this.discover(provider)).serverMetadata();
      if (!keys) throw new Error('the provider names no keys');
      const keySet = createRemoteJWKSet(new URL(keys), { [joseFetch]: this.egress.fetch as unknown as typeof fetch, timeoutDuration: timeoutSeconds * 1_000 });
      const algorithms = (metadata.id_token_signing_alg_values_supported ?? ['RS256']).filter((name) => !/^(none|HS)/.test(name));
      const { payload } = await jwtVerify(token, keySet, {
        issuer,
        audience: provider.settings.clientId,
        algorithms,
        clockTolerance: clockToleranceSeconds,
        maxTokenAge: clockToleranceSeconds,
        requiredClaims: ['iat', 'jti', 'events'],
      });
      const events = payload['events'] as Claims | null;
      if (typeof events !== 'object' || events === null || !(logoutEvent in events) || 'nonce' in payload) throw new Error('the token is no logout');
      const [subject, providerSession] = [textOf(payload.sub), textOf(payload['sid'])];
      if (subject === null && providerSession === null) throw new Error('the logout names nobody');
      return { subject, providerSession };
    });
  }

  private async arrive(provider: OpenProvider, configuration: client.Configuration, tokens: Tokens, claims: Claims & { readonly sub: string }): Promise<Arrival> {
    const more = configuration.serverMetadata().userinfo_endpoint ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
    const kept: KeptTokens = { idToken: tokens.id_token ?? null, refreshToken: tokens.refresh_token ?? null };
    const lifeMs = (tokens.expires_in ?? 0) * 1_000;
    return {
      assertion: toAssertion({ ...more, ...claims }, provider.settings.groupsClaim),
      providerSession: textOf(claims['sid']),
      kept: JSON.stringify(kept),
      askAgainMs: kept.refreshToken === null ? null : Math.min(Math.max(lifeMs, soonestMs), latestMs),
    };
  }

  /** Made anew from what the provider says of itself, so that its keys are read anew: one that it has just taken into use is believed at once. */
  private async discover(provider: OpenProvider): Promise<client.Configuration> {
    const { issuer, clientId } = provider.settings;
    const server = { ...(await this.metadataOf(provider)) };
    const configuration = new client.Configuration(server, clientId, { [client.clockTolerance]: clockToleranceSeconds }, authenticationOf(server, provider.secret));
    configuration[client.customFetch] = this.egress.fetch as unknown as client.CustomFetch;
    configuration.timeout = timeoutSeconds;
    // A proxy between us and the provider must not be able to say who somebody is.
    client.enableNonRepudiationChecks(configuration);
    if (isPlain(issuer)) client.allowInsecureRequests(configuration);
    return configuration;
  }

  /** Kept for ten minutes. A failure is asked again by whoever comes next. */
  private metadataOf({ id, revision, settings: { issuer, clientId } }: OpenProvider): Promise<client.ServerMetadata> {
    const known = this.found.get(id);
    if (known?.revision === revision && performance.now() - known.at < discoveryLifeMs) return known.metadata;
    const options = {
      [client.customFetch]: this.egress.fetch as unknown as client.CustomFetch,
      timeout: timeoutSeconds,
      execute: isPlain(issuer) ? [client.allowInsecureRequests] : [],
    };
    const metadata = client.discovery(new URL(issuer), clientId, {}, client.None(), options).then(
      (configuration) => configuration.serverMetadata(),
      (error: unknown) => {
        this.found.delete(id);
        throw error;
      },
    );
    this.found.set(id, { revision, at: performance.now(), metadata });
    return metadata;
  }
}

/** Only development has such a provider: `checkProvider`. */
const isPlain = (issuer: string): boolean => issuer.startsWith('http:');

/** RFC 6749: a server that says nothing takes the secret in the header. */
function authenticationOf({ token_endpoint_auth_methods_supported: methods }: client.ServerMetadata, secret: string | null): client.ClientAuth {
  if (secret === null) return client.None();
  return !methods || methods.includes('client_secret_basic') ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret);
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** A group list that the provider only points at (`_claim_names`, where there are very many) says nothing. */
function groupsOf(value: unknown): string[] | null {
  const listed = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(listed)) return null;
  return listed.filter((group): group is string => typeof group === 'string' && group !== '' && group.length <= longestGroup).slice(0, mostGroups);
}

export function toAssertion(claims: Claims, groupsClaim: string): Assertion {
  const subject = textOf(claims['sub']);
  if (subject === null || subject.length > longestSubject) throw new Error('the answer names nobody');
  const verified = claims['email_verified'];
  return {
    subject,
    email: textOf(claims['email']),
    // Some providers send the word, and some nothing: their administrators alone give addresses. One that says no means it.
    emailVerified: verified === undefined || verified === null || verified === true || verified === 'true',
    name: textOf(claims['name'])?.slice(0, longestName) ?? null,
    groups: groupsOf(claims[groupsClaim]),
  };
}

async function attempt<A>(work: () => Promise<A>): Promise<Result<A, ProviderFailed>> {
  try {
    return ok(await work());
  } catch (cause) {
    return fail({ _tag: 'ProviderFailed', reason: reasonOf(cause), cause });
  }
}

const unreachable = new Set(['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM']);

function reasonOf(cause: unknown): ProviderFailed['reason'] {
  if (cause instanceof client.AuthorizationResponseError) return cause.error === 'access_denied' ? 'provider_denied' : 'provider_refused';
  if (cause instanceof client.ResponseBodyError || cause instanceof client.WWWAuthenticateChallengeError) return 'provider_refused';
  const code = (cause as { code?: unknown } | null)?.code;
  if (cause instanceof TypeError || cause instanceof EgressRefusedError || (typeof code === 'string' && (unreachable.has(code) || /^(E[A-Z]+|UND_ERR_\w+)$/.test(code))))
    return 'provider_unreachable';
  return 'answer_invalid';
}
