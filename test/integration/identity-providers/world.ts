import { Client } from 'pg';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { DnsServer } from '@test/support/dns-server.js';
import { clientSecret, ScriptedIdentityProvider } from '@test/support/scripted-identity-provider.js';
import { type WalkingBrowser, type Page } from '@test/support/walking-browser.js';

export type Connected = { readonly id: string; readonly signInUrl: string };
export type World = {
  readonly database: TestDatabase;
  readonly app: TestApp;
  /** As browsers know the server. */
  readonly url: string;
  /** As the owner of all tables. */
  readonly outside: Client;
  readonly dns: DnsServer;
  readonly idp: ScriptedIdentityProvider;
  /** Connects the provider to an organization; verified are the domains. */
  connect(owner: Caller, more?: object, domains?: readonly string[]): Promise<Connected>;
  verify(owner: Caller, id: string, domain: string): Promise<void>;
  close(): Promise<void>;
};

export async function openWorld(env: Record<string, string> = {}): Promise<World> {
  const [database, dns, idp] = [await openTestDatabase(), new DnsServer(), await new ScriptedIdentityProvider().start()];
  const app = await startTestApp(database, { OPENBOT_DNS_SERVERS: await dns.start(), ...env });
  const outside = new Client({ connectionString: database.url });
  await outside.connect();
  const url = app.url.replace('127.0.0.1', 'localhost');
  let number = 0;

  async function verify(owner: Caller, id: string, domain: string): Promise<void> {
    const claimed = await owner.call('POST', '/v1/organization/domains', { domain, identityProvider: id });
    const { name, value } = claimed.body['record'] as { name: string; value: string };
    dns.records.set(name, [...(dns.records.get(name) ?? ['unrelated']), value]);
    const verified = await owner.call('POST', `/v1/organization/domains/${claimed.body['id'] as string}/verify`);
    if (verified.status !== 200) throw new Error(verified.text);
  }

  async function connect(owner: Caller, more: object = {}, domains: readonly string[] = ['example.com']): Promise<Connected> {
    number += 1;
    const body = { name: `Example ${number}`, issuer: idp.url, clientId: idp.clientId, clientSecret, ...more };
    const made = await owner.call('POST', '/v1/organization/identity-providers', body);
    if (made.status !== 201) throw new Error(made.text);
    const id = made.body['id'] as string;
    for (const domain of domains) await verify(owner, id, domain);
    return { id, signInUrl: made.body['signInUrl'] as string };
  }

  async function close(): Promise<void> {
    await app.close();
    await outside.end();
    await Promise.all([idp.close(), dns.close()]);
    await database.close();
  }
  return { database, app, url, outside, dns, idp, connect, verify, close };
}

/** The text of the heading, and the error id, of a page that says why somebody is not signed in. */
export const told = ({ status, text }: Page) => ({ status, title: /<h1>([^<]*)<\/h1>/.exec(text)?.[1], errorId: /err_[0-9a-z]{26}/.exec(text)?.[0] });

/** Signs in by a provider; answers the page at the end. */
export const signInBy = (browser: WalkingBrowser, { signInUrl }: Connected, query = ''): Promise<Page> => browser.go(signInUrl + query);

/** Who a browser is signed in as. */
export async function whoIs({ url }: World, browser: WalkingBrowser): Promise<Record<string, unknown>> {
  const { text } = await browser.step(`${url}/v1/me`);
  return JSON.parse(text) as Record<string, unknown>;
}
