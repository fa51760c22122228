import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWTPayload } from 'jose';

export type Person = {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly groups?: readonly string[];
  readonly sid?: string;
};

/** What the provider does otherwise than it should. */
export type Twist = {
  readonly claims?: (claims: JWTPayload) => JWTPayload;
  readonly signature?: 'none' | 'of-another';
  readonly clockMs?: number;
  readonly authorizeError?: string;
  readonly tokenError?: string;
  readonly refreshError?: string;
  readonly down?: boolean;
  readonly state?: string;
};

export const clientSecret = 'a client secret with %: and ünicode'.replace(/[^\x21-\x7e]/g, '_');
type Grant = { readonly person: Person; readonly nonce: string | null; readonly challenge: string; readonly clientId: string; readonly redirectUri: string };

/** An OpenID Connect provider of the tests: it lets `person` in without asking, and does what `twist` says. */
export class ScriptedIdentityProvider {
  person: Person = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada Example' };
  twist: Twist = {};
  url = '';
  readonly clientId = 'openbot';
  /** How often it was asked for a token by a refresh token. */
  refreshes = 0;
  private readonly grants = new Map<string, Grant>();
  private keys!: { own: CryptoKey; other: CryptoKey; jwk: object };
  private number = 0;
  private readonly server = createServer((request, response) => void this.serve(request, response));

  async start(): Promise<this> {
    await this.rotate();
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  /** New keys take the place of those before. */
  async rotate(): Promise<void> {
    const [own, other] = [await generateKeyPair('RS256', { extractable: true }), await generateKeyPair('RS256')];
    this.number += 1;
    this.keys = { own: own.privateKey, other: other.privateKey, jwk: { ...(await exportJWK(own.publicKey)), kid: `key-${this.number}`, alg: 'RS256', use: 'sig' } };
  }

  close(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(() => done()));
  }

  logoutToken(claims: JWTPayload = {}, person: Person = this.person): Promise<string> {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    return this.sign({ ...(person.sub ? { sub: person.sub } : {}), ...(person.sid ? { sid: person.sid } : {}), events, jti: randomUUID(), aud: this.clientId, ...claims });
  }

  private now(): number {
    return Math.floor((Date.now() + (this.twist.clockMs ?? 0)) / 1_000);
  }

  private async sign(claims: JWTPayload): Promise<string> {
    const all = this.twist.claims?.({ iss: this.url, iat: this.now(), exp: this.now() + 300, ...claims }) ?? { iss: this.url, iat: this.now(), exp: this.now() + 300, ...claims };
    if (this.twist.signature === 'none') return new UnsecuredJWT(all).encode();
    const key = this.twist.signature === 'of-another' ? this.keys.other : this.keys.own;
    return new SignJWT(all).setProtectedHeader({ alg: 'RS256', kid: `key-${this.number}` }).sign(key);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.twist.down) return void response.destroy();
    const url = new URL(request.url ?? '/', this.url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
    const json = (body: object, status = 200): void => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname === '/.well-known/openid-configuration') return json(this.metadata());
    if (url.pathname === '/jwks') return json({ keys: [this.keys.jwk] });
    if (url.pathname === '/authorize') return void response.writeHead(302, { location: this.authorize(url.searchParams) }).end();
    if (url.pathname === '/userinfo') return json({ sub: request.headers.authorization?.replace('Bearer at-', '') ?? '', ...this.profile() });
    if (url.pathname === '/token') return this.token(form, request.headers.authorization, json);
    response.writeHead(404).end();
  }

  private profile(person = this.person): object {
    const { sid, sub, ...profile } = person;
    return profile;
  }

  private metadata(): object {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      userinfo_endpoint: `${this.url}/userinfo`,
      jwks_uri: `${this.url}/jwks`,
      end_session_endpoint: `${this.url}/end`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      code_challenge_methods_supported: ['S256'],
    };
  }

  private authorize(query: URLSearchParams): string {
    const back = new URL(query.get('redirect_uri')!);
    back.searchParams.set('state', this.twist.state ?? query.get('state')!);
    if (this.twist.authorizeError) back.searchParams.set('error', this.twist.authorizeError);
    else {
      const code = randomUUID();
      this.grants.set(code, {
        person: this.person,
        nonce: query.get('nonce'),
        challenge: query.get('code_challenge')!,
        clientId: query.get('client_id')!,
        redirectUri: query.get('redirect_uri')!,
      });
      back.searchParams.set('code', code);
    }
    return back.href;
  }

  private async token(form: URLSearchParams, authorization: string | undefined, json: (body: object, status?: number) => void): Promise<void> {
    const [id, secret] = Buffer.from(authorization?.replace('Basic ', '') ?? '', 'base64').toString('utf8').split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' '))); // prettier-ignore
    if (id !== this.clientId || secret !== clientSecret) return json({ error: 'invalid_client' }, 401);
    if (form.get('grant_type') === 'refresh_token') {
      this.refreshes += 1;
      if (this.twist.refreshError) return json({ error: this.twist.refreshError }, 400);
      return json(await this.tokens(this.person, null));
    }
    const grant = this.grants.get(form.get('code') ?? '');
    this.grants.delete(form.get('code') ?? '');
    if (this.twist.tokenError) return json({ error: this.twist.tokenError }, 400);
    const proven = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url'); // prettier-ignore
    if (!grant || grant.challenge !== proven || grant.redirectUri !== form.get('redirect_uri')) return json({ error: 'invalid_grant' }, 400);
    json(await this.tokens(grant.person, grant.nonce));
  }

  private async tokens(person: Person, nonce: string | null): Promise<object> {
    const claims = { sub: person.sub, aud: this.clientId, ...(person.sid ? { sid: person.sid } : {}), ...(nonce === null ? {} : { nonce }) };
    return { access_token: `at-${person.sub}`, token_type: 'Bearer', expires_in: 300, refresh_token: `rt-${randomUUID()}`, id_token: await this.sign(claims) };
  }
}
