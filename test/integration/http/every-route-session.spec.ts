import { isSafe } from '@platform/identity/forgery.js';
import { sessionCookie } from '@platform/identity/session-cookie.js';
import { eventually } from '@test/support/eventually.js';
import { goodRequest } from './every-route-bodies.js';
import { isPublic, type Operation } from './every-route-document.js';
import { openEveryRoute, send, type EveryRoute, type Sent, type Tenant } from './every-route-world.js';

// Each route twice and more, one after the other.
jest.setTimeout(120_000);

let world: EveryRoute;
beforeAll(async () => {
  world = await openEveryRoute();
});
afterAll(() => world.close());

const cookieOf = ({ browser }: Tenant): Record<string, string> => ({ cookie: `${sessionCookie}=${browser.cookie}` });

/** The good request of a route, by whatever says who asks. */
const ask = (operation: Operation, tenant: Tenant, by: { readonly token?: string; readonly headers?: Record<string, string> }): Promise<Sent> =>
  send(world, operation, tenant.ids, { token: by.token ?? null, ...(by.headers ? { headers: by.headers } : {}), ...goodRequest(operation, tenant) });

const closed = (): Operation[] => world.operations.filter((operation) => !isPublic(operation) && !/^observe/.test(operation.operationId));
/** No turn runs: where one was sent, the answers of the next routes would tell how far it was. */
const quiet = (): Promise<unknown> =>
  eventually(
    async () => (await world.outside.query('select 1 from chat where running_turn_id is not null')).rowCount,
    (running) => running === 0,
    30_000,
  );
/** Ids, instants and secrets are new with each thing that is made. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]));
};

test('403: by the cookie alone nothing is changed: every route that could says that the proof of our page is missing', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  const changing = closed().filter(({ method }) => !isSafe(method));
  for (const operation of changing) {
    for (const headers of [{}, { 'openbot-csrf': 'nonsense' }, { 'openbot-csrf': world.mine.browser.csrf!, origin: 'https://evil.example' }]) {
      const answer = await ask(operation, world.mine, { headers: { ...cookieOf(world.mine), ...headers } });
      if (answer.status !== 403 || answer.tag !== 'CsrfMissing')
        findings.push(`${operation.operationId} with ${Object.keys(headers).join() || 'nothing'}: ${answer.status} ${answer.tag}`);
    }
  }
  expect(findings).toEqual([]);
  expect(changing.length).toBeGreaterThan(30);
  expect(await world.stored()).toEqual(before);
});

test('403: pages of others sign nobody in', async () => {
  const before = await world.stored();
  const findings: string[] = [];
  const opening = world.operations.filter((operation) => isPublic(operation) && !isSafe(operation.method));
  for (const operation of opening) {
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
      const answer = await ask(operation, world.mine, { headers });
      if (answer.status !== 403 || answer.tag !== 'CsrfMissing') findings.push(`${operation.operationId}: ${answer.status} ${answer.tag}`);
    }
  }
  expect(findings).toEqual([]);
  expect(opening.length).toBeGreaterThan(1);
  expect(await world.stored()).toEqual(before);
});

test('a session is answered as a token of the same person is, on every route', async () => {
  const findings: string[] = [];
  // These are about the credential itself.
  const own = new Set(['signOut', 'readSession', 'endSession', 'endOtherSessions', 'changePassword', 'readMe', 'listSessions']);
  const order = ({ method }: Operation): number => (isSafe(method) ? 0 : method === 'DELETE' ? 2 : 1);
  for (const operation of closed().sort((a, b) => order(a) - order(b))) {
    if (own.has(operation.operationId)) continue;
    await quiet();
    // The other tenant has the same things in the same state, so that what can be done once is done by each once.
    const byToken = await ask(operation, world.theirs, { token: world.theirs.owner.token });
    const bySession = await ask(operation, world.mine, { headers: { ...cookieOf(world.mine), 'openbot-csrf': world.mine.browser.csrf! } });
    // What is made with a token ends with it, and says so.
    const [one, other] = [byToken, bySession].map(({ status, body: { createdWith: _, ...body } }) => JSON.stringify([status, shapeOf(body)]));
    if (one !== other) findings.push(`${operation.operationId}: ${one} by a token, ${other} by a session`);
  }
  expect(findings).toEqual([]);
});
