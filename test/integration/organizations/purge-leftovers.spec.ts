import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toPublicId } from '@platform/ids/typeid.js';
import { runDoctor } from '@platform/doctor/run-doctor.js';
import { S3Store, storePolicy } from '@platform/objects/s3-store.js';
import { startS3Server } from '@test/support/s3-server.js';
import type { Person } from '../chats/chat-app.js';
import { startPurgeApp, type Project, type PurgeApp } from './purge-app.js';

// What is tried again is tried later each time.
jest.setTimeout(180_000);

let app: PurgeApp;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let door: Server;
/** What the store refuses. */
let refused: (method: string, path: string) => boolean = () => false;
let owner: Person;
let project: Project;
let store: S3Store;

beforeAll(async () => {
  s3 = await startS3Server();
  const target = new URL(s3.settings.endpoint);
  door = createServer((incoming, answer) => {
    if (refused(incoming.method ?? '', incoming.url ?? '')) return void answer.writeHead(403).end();
    const outgoing = request({ host: target.hostname, port: target.port, method: incoming.method, path: incoming.url, headers: incoming.headers }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers);
      got.pipe(answer);
    });
    incoming.pipe(outgoing);
  });
  await new Promise<void>((listening) => door.listen(0, '127.0.0.1', () => listening()));
  const endpoint = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
  const { bucket, accessKeyId, secretAccessKey } = s3.settings;
  app = await startPurgeApp({ S3_BUCKET: bucket, S3_ENDPOINT: endpoint, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey });
  store = new S3Store(s3.settings, storePolicy(s3.settings, [], { loopback: true }));
});
afterAll(async () => {
  await app.close();
  await store.close();
  door.closeAllConnections();
  door.close();
  await s3.close();
});
beforeEach(async () => {
  refused = () => false;
  owner = await app.person();
  project = await app.project(owner);
});

async function put(count: number, name = (each: number): string => `part/${each}`): Promise<void> {
  const keys = Array.from({ length: count }, (_, each) => project.prefix + name(each));
  while (keys.length > 0) await Promise.all(keys.splice(0, 40).map((key) => store.put(key, Buffer.from('x'))));
}
const left = async (): Promise<readonly string[]> => (await store.list(project.prefix, { after: null, limit: 1_000 })).keys;
const finding = async () => (await runDoctor({ url: app.database.workerUrl, leaseMs: 600 })).findings.find(({ name }) => name === 'purges-unfinished');

test('objects that cannot be removed are named, hold up no row, and are tried again until they are gone', async () => {
  await put(520);
  await put(3, (each) => `stuck/${each}`);
  refused = (method, path) => method === 'DELETE' && path.includes('/stuck/');
  expect((await app.remove(owner, project)).status).toBe(202);
  const stuck = [0, 1, 2].map((each) => `${project.prefix}stuck/${each}`);
  const leftovers = await app.purged(owner, project, 'leftovers', 120_000);
  expect({ ...leftovers, failedObjects: [...leftovers.failedObjects].sort() }).toMatchObject({
    objectsRemoved: 520,
    objectsFailed: 3,
    failedObjects: stuck,
    rows: { project_role: 1 },
    completedAt: null,
  });
  expect(await left()).toEqual(stuck);
  expect((await app.outside.query('select 1 from project where id = $1', [project.uuid])).rowCount).toBe(0);
  expect(await finding()).toMatchObject({ verdict: 'act', count: 1, examples: [toPublicId('purge', project.uuid)] });
  refused = () => false;
  expect(await app.purged(owner, project)).toMatchObject({ objectsRemoved: 523, objectsFailed: 0, failedObjects: [] });
  expect(await left()).toEqual([]);
  expect(await finding()).toMatchObject({ verdict: 'well', count: 0 });
});

test('while the store does not say what is there, no row goes; the doctor names a purge that makes no step', async () => {
  await put(1);
  let asked = 0;
  refused = (method) => method === 'GET' && (asked += 1) < 3;
  await app.remove(owner, project);
  expect(await app.purged(owner, project)).toMatchObject({ objectsRemoved: 1, rows: { project_role: 1 } });
  expect(asked).toBeGreaterThanOrEqual(3);
  expect(await left()).toEqual([]);
  await app.outside.query(`update project_purge set state = 'rows', completed_at = null, moved_at = clock_timestamp() - interval '11 min' where id = $1`, [project.uuid]);
  expect(await finding()).toMatchObject({ verdict: 'act', count: 1, examples: [toPublicId('purge', project.uuid)] });
});
