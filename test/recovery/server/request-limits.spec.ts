import { joined, openServerWorld, request, type ServerWorld } from './server-world.js';

const perMinute = 240;
let world: ServerWorld;
beforeAll(async () => {
  world = await openServerWorld();
}, 60_000);
afterAll(() => world.close());

test('two servers let no more requests of a member through than the limit, and nearly all of it', async () => {
  const env = { OPENBOT_LIMIT_READ: String(perMinute) };
  const places = await Promise.all(['first', 'second'].map((node) => world.place({ node, env })));
  const servers = await Promise.all(places.map(async (place) => (await place.start()).local));
  const { token } = await joined(servers[0]!, { email: 'max@example.com' });

  const began = performance.now();
  const statuses: number[] = [];
  const caller = async (url: string): Promise<void> => {
    for (let n = 0; n < 30; n += 1) statuses.push((await request({ url, token }, 'GET', '/v1/me')).status);
  };
  await Promise.all(servers.flatMap(({ url }) => Array.from({ length: 8 }, () => caller(url))));
  const seconds = (performance.now() - began) / 1_000;

  const passed = statuses.filter((status) => status === 200).length;
  const most = perMinute + Math.ceil((seconds * perMinute) / 60);
  console.info(`${statuses.length} requests in ${seconds.toFixed(1)} s at two servers: ${passed} passed of at most ${most}`);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(passed).toBeLessThanOrEqual(most);
  expect(passed).toBeGreaterThanOrEqual(perMinute * 0.9);
}, 120_000);
