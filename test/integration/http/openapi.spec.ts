import { startSampleApp, type SampleApp } from './sample-app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

let database: TestDatabase;
let app: SampleApp;
type Schema = { $ref?: string; oneOf?: Schema[]; properties?: Record<string, unknown> };
type Operation = {
  responses: Record<string, { description: string; content: { 'application/json': { schema: Schema; examples: Record<string, { value: { _tag: string } }> } } }>;
  security: object[];
  'x-permission': string;
};
let document: { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> }; tags: { name: string }[] };
beforeAll(async () => {
  database = await openTestDatabase();
  app = await startSampleApp(database.api);
  document = (await (await fetch(`${app.url}/openapi.json`)).json()) as typeof document;
});
afterAll(async () => {
  await app.close();
  await database.close();
});

const operation = (path: string, method: string): Operation => {
  const found = document.paths[path]?.[method];
  if (!found) throw new Error(`${method} ${path} is not documented`);
  return found;
};

test('each operation shows its permission, and only public ones need no token', () => {
  expect(operation('/v1/samples', 'post')).toMatchObject({ 'x-permission': 'chats.write', security: [{ token: [] }, { session: [] }] });
  expect(operation('/health/live', 'get')).toMatchObject({ 'x-permission': 'public', security: [] });
});

test('each operation declares every problem that it may answer, with an example of that problem', () => {
  expect(Object.keys(operation('/v1/samples', 'post').responses)).toEqual(['202', '400', '401', '403', '404', '413', '415', '429', '500', '503']);
  for (const status of ['400', '401', '413', '415', '429', '500', '503']) {
    const examples = operation('/v1/samples', 'post').responses[status]?.content['application/json'].examples ?? {};
    for (const [tag, { value }] of Object.entries(examples)) expect(value._tag).toBe(tag);
    expect(Object.keys(examples)).not.toHaveLength(0);
  }
  expect(operation('/v1/samples', 'post').responses['403']?.content['application/json'].examples).toMatchObject({
    PermissionMissing: { value: { _tag: 'Forbidden', permission: 'chats.write' } },
  });
  expect(operation('/health/live', 'get').responses).not.toHaveProperty('401');
  expect(operation('/health/live', 'get').responses).not.toHaveProperty('403');
  expect(operation('/v1/samples/{chatId}', 'get').responses).not.toHaveProperty('413');
});

test('a status that the route declares too names both', () => {
  const declared = operation('/v1/samples/{chatId}', 'get').responses['400'];
  expect(declared?.description).toBe('ChatFull, InvalidInput');
  expect(Object.keys(declared?.content['application/json'].examples ?? {})).toEqual(['ChatFull', 'InvalidInput']);
  expect(declared?.content['application/json'].schema.oneOf).toHaveLength(2);
  expect(operation('/health/ready', 'get').responses['503']?.description).toBe('NotReady, RequestFailed');
});

test('every reference leads somewhere', () => {
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '');
  expect(references.filter((name) => !(name in document.components.schemas))).toEqual([]);
});

test('tags come in the order of the first conversation', () => {
  expect(document.tags.map(({ name }) => name)).toEqual(['Chats', 'Health']);
});

test('302: the root leads to the documentation, whoever asks', async () => {
  const answer = await fetch(`${app.url}/`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs']);
  expect((await fetch(`${app.url}/?from=bookmark`)).url).toMatch(/\/docs/);
  expect((await fetch(`${app.url}/`, { method: 'POST' })).status).toBe(405);
});

test('the page and all that it loads come from this server, under its own content rules', async () => {
  const page = await fetch(`${app.url}/docs`);
  expect(page.status).toBe(200);
  const html = await page.text();
  const scripts = [...html.matchAll(/<script([^>]*)>([^<]*)/g)];
  expect(scripts).toHaveLength(3);
  for (const [, attributes, inline] of scripts) {
    expect(inline?.trim()).toBe('');
    const source = /src="([^"]+)"/.exec(attributes ?? '')?.[1] ?? '';
    const script = await fetch(new URL(source, `${app.url}/docs`));
    expect({ source, status: script.status, empty: (await script.text()) === '' }).toEqual({ source, status: 200, empty: false });
  }
  expect(await (await fetch(`${app.url}/docs/swagger-ui-init.js`)).text()).toMatch(/"persistAuthorization": true[\s\S]*"tryItOutEnabled": true/);
});
