import { Browser, type PageAnswer } from '@test/support/browser.js';
import { eventually } from '@test/support/eventually.js';
import { accepted, endedExecution, joined, openServerWorld, request, scriptedModel, sendMessage, type ServerWorld } from './server-world.js';

jest.setTimeout(120_000);

let world: ServerWorld;
beforeAll(async () => {
  world = await openServerWorld();
});
afterAll(() => world.close());

/** What nobody but whom it belongs to may read. What begins with `ob` shows its first 30 characters in lists. */
const secrets = new Map<string, string>();
const plant = (name: string, secret: unknown): string => {
  if (typeof secret !== 'string' || secret.length < 12) throw new Error(`nothing to plant as ${name}`);
  secrets.set(name, /^ob[a-z]_/.test(secret) ? secret.slice(30) : secret);
  return secret;
};
const content = { said: 'marzipan-was-said', answered: 'marzipan-was-answered', argument: 'marzipan-was-an-argument', fault: 'marzipan-was-refused' };
const tokenOf = (link: string): string => link.split('#token=')[1]!;
const good = ({ status, text, body }: PageAnswer): PageAnswer['body'] => {
  if (status >= 300) throw new Error(text);
  return body;
};
const leaks = (text: string, wanted: Iterable<readonly [string, string]>): string[] =>
  [...wanted].filter(([, secret]) => text.includes(secret) || text.includes(Buffer.from(secret).toString('hex'))).map(([name]) => name);

test('a conversation and all ways in: no log, record, audit log, feed, list or row has a secret, or what was said', async () => {
  const providerKey = plant('key of the environment', 'sk-marzipan-of-the-environment');
  const place = await world.place({ node: 'planted', env: { OPENAI_API_KEY: providerKey, OPENBOT_LOG_LEVEL: 'trace' } });
  const run = await place.start();
  const { url, projectId } = run.local;
  const owner = run.local;
  const browser = new Browser(url);
  const password = plant('password', 'marzipan and giraffes');

  // In by a setup link, by an invitation, by a password; and not in.
  const ada = await joined(owner, { name: 'Ada', email: 'ada@example.com', role: 'owner' });
  plant('first token', ada.token);
  const { link } = (await accepted(owner, 'PUT', `/v1/organization/members/${ada.id}/password-sign-in`, { allowed: true })) as { link: string };
  const setup = plant('setup link', tokenOf(link));
  good(await browser.ask('POST', '/auth/setup', { body: { token: setup, password } }));
  plant('session', browser.cookie);
  plant('proof of the session', browser.csrf);
  const invited = (await accepted(owner, 'POST', '/v1/organization/invitations', { email: 'bob@example.com', passwordSignIn: true })) as { link: string };
  const invitation = plant('invitation', tokenOf(invited.link));
  good(await new Browser(url).ask('POST', '/auth/invitations/look', { body: { token: invitation } }));
  good(await new Browser(url).ask('POST', '/auth/invitations/accept', { body: { token: invitation, name: 'Bob', password: plant('invited password', 'marzipan and lions') } }));
  const { organization } = good(await browser.ask('GET', '/auth/session'));
  const signIn = (given: string) => new Browser(url).ask('POST', '/auth/login', { body: { organization, email: 'ada@example.com', password: given } });
  expect((await signIn(plant('wrong password', 'marzipan and no giraffe'))).status).toBe(401);
  good(await signIn(password));
  good(await browser.ask('PUT', '/v1/me/password', { body: { current: password, new: plant('next password', 'marzipan and tigers') } }));

  // Credentials, and a provider's key.
  const made = good(await browser.ask('POST', '/v1/me/tokens', { body: { name: 'Phone' } })) as { id: string; token: string };
  const phone = { url, token: plant('token', made.token) };
  plant('rotated token', ((await accepted(phone, 'POST', `/v1/me/tokens/${made.id}/rotate`, { overlapMs: 60_000 })) as { token: string }).token);
  plant('API key', ((await accepted(owner, 'POST', '/v1/api-keys', { name: 'Program', scopes: ['bots.read'] })) as { key: string }).key);
  const apiKey = plant('key of a connection', 'marzipan-key-of-a-connection');
  const connection = { kind: 'openai-compatible', name: 'Ours', baseUrl: world.provider.url, models: [{ id: 'm-1' }], apiKey };
  const { id: provider } = (await accepted(owner, 'POST', '/v1/model-connections', connection)) as { id: string };

  // A conversation with a tool, one that fails with what the provider says, and one by the connection.
  const bot = (model: object) => accepted(phone, 'POST', '/v1/bots', { name: 'Planner', model }) as Promise<{ id: string }>;
  const todos = { id: 'call_1', name: 'openbot_todos', arguments: JSON.stringify({ items: [{ id: 'a', content: content.argument, status: 'done' }] }) };
  world.provider.answer(
    { calls: [todos] },
    { text: [content.answered] },
    { text: [content.answered] },
    { status: 400, message: `${content.fault} ${providerKey}`, type: 'invalid_request_error' },
  );
  const ends = [];
  for (const { id: botId } of [await bot(scriptedModel), await bot({ provider, model: 'm-1' }), await bot(scriptedModel)])
    ends.push(((await endedExecution(phone, await sendMessage({ ...phone, botId }, content.said))) as { state: string }).state);
  expect(ends).toEqual(['completed', 'completed', 'failed']);

  // Where none belongs.
  for (const secret of [phone.token, browser.cookie!, invitation]) {
    await fetch(`${url}/v1/me?token=${secret}`, { headers: { authorization: `Bearer ${secret}x`, referer: `${url}/?token=${secret}` } });
    await request(phone, 'GET', `/v1/bots/${secret}`);
    await request(phone, 'POST', '/v1/bots', { name: 'Planner', [secret]: content.said });
    await fetch(`${url}/v1/bots`, { method: 'POST', headers: { authorization: `Bearer ${phone.token}`, 'content-type': 'application/json' }, body: `{"name": "${secret}` });
  }

  const everything = [...secrets, ...Object.entries(content)];
  const textOf = async (path: string) => (await fetch(url + path, { headers: { authorization: `Bearer ${owner.token}` } })).text();
  const texts = async (...paths: string[]): Promise<string> => (await Promise.all(paths.map(textOf))).join('\n');
  await eventually(
    () => world.rows('select 1 from audit_inbox'),
    (told) => told.length === 0,
  );
  const kept = {
    audit: await texts('/v1/organization/audit?limit=100', '/v1/organization/audit/export', `/v1/projects/${projectId}/audit?limit=100`, `/v1/projects/${projectId}/audit/export`),
    feed: await texts(`/v1/projects/${projectId}/events?limit=100`),
    lists: await texts('/v1/organization/members', '/v1/organization/invitations', '/v1/api-keys', '/v1/model-connections', '/v1/organization/service-accounts'),
    own:
      good(await browser.ask('GET', '/v1/me/sessions')) &&
      (await Promise.all(['/v1/me/sessions', '/v1/me/tokens', '/v1/me'].map(async (path) => (await browser.ask('GET', path)).text))).join(),
  };
  const tables = (await world.rows(`select format('%I', relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`)) as { name: string }[];
  const stored = await Promise.all(tables.map(async ({ name }) => JSON.stringify(await world.rows(`select t::text as row from ${name} t`))));
  run.signal('SIGTERM');
  await run.exited;
  // What is looked at is there.
  expect(run.output()).toMatch(/"path":"\/auth\/login"/);
  expect(run.output()).toMatch(/"path":"\/v1\/bots\/\[credential\]"/);
  expect(kept.audit).toMatch(/sign_in\.failed[\s\S]*secret\.used/);
  expect(kept.feed).toMatch(/"items":\[\{/);
  expect(await world.rows(`select 1 from error_record where category <> ''`)).not.toEqual([]);
  expect(Object.entries({ log: run.output(), ...kept, rows: stored.join('\n') }).flatMap(([where, text]) => leaks(text, everything).map((name) => `${where}: ${name}`))).toEqual(
    [],
  );
});
