import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import type { TestApp } from '@test/support/app.js';
import { Browser, goodPassword, signedIn } from '@test/support/browser.js';
import { eventually } from '@test/support/eventually.js';
import { scripted, startChatApp, type ChatApp, type Person } from './chat-app.js';

let app: ChatApp;
let server: TestApp;
let owner: Person;
let browser: Browser;
let letGoOn: () => void;
beforeAll(async () => {
  app = await startChatApp({ OPENBOT_GRACE_MS: '100' });
  server = await app.start({ OPENBOT_ROLES: 'api' });
});
beforeEach(async () => {
  owner = await app.person();
  browser = await signedIn(server, owner as never);
  app.provider.reset();
  const until = new Promise<void>((resolve) => (letGoOn = resolve));
  const todos = { id: 'call_1', name: 'openbot_todos', arguments: JSON.stringify({ items: [] }) };
  // The second step begins when the session is over.
  app.provider.whenAsked(({ body }: { body: unknown }) => (JSON.stringify(body).includes('call_1') ? { text: ['Done'] } : { calls: [todos], until }));
});
afterAll(() => app.close());

const signInAgain = async (): Promise<Browser> => {
  const again = new Browser(server.url);
  const answer = await again.ask('POST', '/auth/login', {
    body: { organization: toPublicId('organization', owner.organizationId), email: 'olivia@example.com', password: goodPassword },
  });
  if (answer.status !== 200) throw new Error(answer.text);
  return again;
};

/** Work that was begun in the browser's session and has come to its first step. */
async function begin(): Promise<string> {
  const before = app.provider.requests.length;
  const bot = (await browser.ask('POST', '/v1/bots', { body: { name: 'Writer', model: scripted } })).body['id'] as string;
  const sent = await browser.ask('POST', `/v1/bots/${bot}/messages`, { body: { input: 'Work', commandKey: 'work' } });
  if (sent.status !== 202) throw new Error(sent.text);
  await app.provider.request(before + 1);
  return fromPublicId('execution', sent.body['executionId'] as string)!;
}
const ended = (execution: string): Promise<{ state: string; failure_category: string | null }> =>
  eventually(
    async () => (await app.outside.query<{ state: string; failure_category: string | null }>('select state, failure_category from execution where id = $1', [execution])).rows[0]!,
    ({ state }) => ['completed', 'failed', 'cancelled'].includes(state),
    20_000,
  );

test.each<[string, () => Promise<unknown>]>([
  ['signed out', () => browser.ask('POST', '/auth/logout')],
  [
    'signed in anew',
    () => browser.ask('POST', '/auth/login', { body: { organization: toPublicId('organization', owner.organizationId), email: 'olivia@example.com', password: goodPassword } }),
  ],
  ['was away for too long', () => app.outside.query(`update credential set idle_until = clock_timestamp(), expires_at = clock_timestamp() where kind = 'session'`)],
])('who %s is out, and their work goes on to its end', async (_, leave) => {
  const execution = await begin();
  const { cookie } = browser;
  await leave();
  const left = new Browser(server.url);
  left.cookie = cookie;
  expect((await left.ask('GET', '/v1/me')).status).toBe(401);
  letGoOn();
  expect(await ended(execution)).toEqual({ state: 'completed', failure_category: null });
});

test.each<[string, (other: Browser) => Promise<{ readonly status: number }>]>([
  ['its owner ends the others', (other) => other.ask('DELETE', '/v1/me/sessions')],
  ['its owner changes the password', (other) => other.ask('PUT', '/v1/me/password', { body: { current: goodPassword, new: 'eight tall giraffes' } })],
])('when %s, what was begun in a session is cut', async (_, end) => {
  const other = await signInAgain();
  const execution = await begin();
  expect((await end(other)).status).toBeLessThan(300);
  expect(await ended(execution)).toEqual({ state: 'failed', failure_category: 'identity_revoked' });
  expect(app.provider.requests).toHaveLength(1);
});
