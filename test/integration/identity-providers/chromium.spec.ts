import { readFileSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { VouchForDomainCommand } from '@contexts/identity-providers/public/vouch-for-domain.command.js';
import { freePort } from '@platform/local/postgres-server.js';
import type { Caller } from '@test/support/app.js';
import { startDevIdentityProvider, type DevIdentityProvider } from '@test/support/dev-identity-provider.js';
import { eventually } from '@test/support/eventually.js';
import { describeWith } from '@test/support/services.js';
import { openWorld, type World } from './world.js';

jest.setTimeout(120_000);

describeWith('chromium')('in a browser, by oidc-provider', () => {
  let world: World;
  let owner: Caller;
  let idp: DevIdentityProvider;
  let browser: Browser;
  let contexts: BrowserContext[] = [];

  beforeAll(async () => {
    world = await openWorld();
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
    owner = await world.app.createTenant();
    // As docs/sso.md says it, but for the port.
    const [provider, domain] = [...readFileSync('docs/sso.md', 'utf8').matchAll(/-d '(\{[^']+\})'/g)].map(([, body]) => JSON.parse(body!) as Record<string, unknown>);
    const port = await freePort(0);
    const { status, body } = await owner.call('POST', '/v1/organization/identity-providers', { ...provider, issuer: `http://localhost:${port}` });
    expect(status).toBe(201);
    expect((await owner.call('POST', '/v1/organization/domains', { ...domain, identityProvider: body['id'] })).status).toBe(201);
    expect((await world.app.commands.execute(new VouchForDomainCommand(owner.organizationId, 'example.com'))).ok).toBe(true);
    idp = await startDevIdentityProvider({ port, backChannelLogoutUri: body['backChannelLogoutUri'] as string });
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
    contexts = [];
  });
  afterAll(async () => {
    await browser?.close();
    await idp?.close();
    await world?.close();
  });

  /** A browser of its own, and what its console complains of our pages. */
  async function open(): Promise<{ page: Page; complaints: string[] }> {
    const context = await browser.newContext();
    contexts.push(context);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => message.type() === 'error' && message.location().url.startsWith(world.url) && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    return { page, complaints };
  }

  /** From our page to the provider’s, through its login and its question, and back. */
  async function signIn(page: Page, email: string): Promise<void> {
    await page.goto(`${world.url}/auth/sign-in`);
    await page.getByLabel('Your e-mail address').fill(email);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.locator('input[name=login]').fill(email);
    await page.locator('input[name=password]').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`${world.url}/auth/signed-in`);
  }
  const me = (page: Page): Promise<{ status: number; body: Record<string, unknown> }> =>
    page.evaluate(async () => {
      const response = await fetch('/v1/me');
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    });

  test('somebody signs in with login and consent, is what their groups say, and signs out here and there', async () => {
    const { page, complaints } = await open();
    await signIn(page, 'ada@example.com');
    await page.getByText('Ada, Example').waitFor();
    expect(await me(page)).toMatchObject({ status: 200, body: { email: 'ada@example.com', role: 'admin' } });
    expect(complaints).toEqual([]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: /yes, sign me out/i }).click();
    await page.waitForURL(`${world.url}/auth/signed-out`);
    expect(await me(page)).toMatchObject({ status: 401 });
    // Nobody is signed in there either: the provider asks for the login again.
    await page.getByRole('link', { name: 'sign in again' }).click();
    await page.getByLabel('Your e-mail address').fill('ada@example.com');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.locator('input[name=login]').waitFor();
  });

  test('who signs out at the provider is out here, in the browser that they forgot', async () => {
    const { page } = await open();
    await signIn(page, 'bob@example.com');
    expect(await me(page)).toMatchObject({ status: 200, body: { role: 'member' } });
    const there = await page.context().newPage();
    await there.goto(`${idp.issuer}/session/end`);
    await there.getByRole('button', { name: /yes, sign me out/i }).click();
    await eventually(async () => (await me(page)).status, (status) => status === 401, 30_000); // prettier-ignore
  });

  test('who says no at the provider reads so, and can begin again', async () => {
    const { page } = await open();
    await page.goto(`${world.url}/auth/sign-in`);
    await page.getByLabel('Your e-mail address').fill('eve@example.com');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('link', { name: /cancel/i }).click();
    await page.getByRole('heading', { name: 'Your identity provider did not let you in' }).waitFor();
    expect(await page.getByText(/Error err_/).count()).toBe(1);
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await page.locator('input[name=login]').waitFor();
  });

  test('an address of nobody’s domain is asked for a password', async () => {
    const { page, complaints } = await open();
    await page.goto(`${world.url}/auth/sign-in`);
    await page.getByLabel('Your e-mail address').fill('olivia@nowhere.example');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByLabel('Password').waitFor();
    expect(complaints).toEqual([]);
  });
});
