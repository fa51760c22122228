// An OpenID Connect provider on this machine to try signing in with: everybody who types an address is let in as its owner. Never for anything else.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import Provider from 'oidc-provider';

const { values } = parseArgs({ options: { port: { type: 'string', default: '9400' }, 'token-seconds': { type: 'string', default: '3600' } } });
const client = { id: 'openbot', secret: 'for-this-machine-alone' };
/** Who is in which groups. */
const groups = { 'ada@example.com': ['openbot-admins', 'everybody'], 'bob@example.com': ['everybody'] };
const isLocal = (uri) => ['localhost', '127.0.0.1'].includes(new URL(uri).hostname);

// Back-channel logout goes to the server under test, wherever it listens: a client knows it when the first redirect has named it.
const server = createServer();
server.listen(Number(values.port), '127.0.0.1', () => {
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: ['http://localhost/'],
        post_logout_redirect_uris: ['http://localhost/'],
        grant_types: ['authorization_code', 'refresh_token'],
        ...(process.env.BACK_CHANNEL_LOGOUT_URI ? { backchannel_logout_uri: process.env.BACK_CHANNEL_LOGOUT_URI, backchannel_logout_session_required: true } : {}),
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'offline_access', 'email', 'profile', 'groups'],
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true }, rpInitiatedLogout: { enabled: true }, revocation: { enabled: true } },
    // The library refuses to speak to this machine, which is all that there is here.
    fetch: (url, { dispatcher: _guarded, ...options }) => fetch(url, options),
    cookies: { keys: [randomUUID()] },
    ttl: { AccessToken: Number(values['token-seconds']), IdToken: 3_600, Session: 86_400, Grant: 86_400, Interaction: 3_600, RefreshToken: 86_400 },
    issueRefreshToken: (_ctx, { grantTypes }, code) => grantTypes.includes('refresh_token') && code.scopes.has('offline_access'),
    findAccount: (_ctx, id) => {
      const email = id.includes('@') ? id.toLowerCase() : `${id.toLowerCase()}@example.com`;
      const name = email.split('@')[0].replace(/^./, (letter) => letter.toUpperCase());
      return { accountId: id, claims: () => ({ sub: id, email, email_verified: true, name, groups: groups[email] ?? [] }) };
    },
  });
  // Any page of this machine: which port OpenBot has, and which provider it is there, nobody knows before.
  provider.Client.prototype.redirectUriAllowed = isLocal;
  provider.Client.prototype.postLogoutRedirectUriAllowed = isLocal;
  provider.on('backchannel.error', (_ctx, error, { clientId }) => process.stderr.write(`${clientId} was not told of a logout: ${error.message} ${error.cause?.message ?? ''}\n`));
  server.on('request', provider.callback());
  process.stdout.write(`issuer         ${issuer}\nclientId       ${client.id}\nclientSecret   ${client.secret}\nscopes         openid email profile groups offline_access\n`);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit());
