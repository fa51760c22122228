import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { addressPolicy } from '@platform/egress/address-policy.js';
import { EgressRefusedError } from '@platform/egress/egress.js';
import { FolderStore } from '@platform/objects/folder-store.js';
import { projectPrefix, readObject, type ObjectStore } from '@platform/objects/object-store.js';
import { S3Store, storePolicy } from '@platform/objects/s3-store.js';
import { startS3Server } from '@test/support/s3-server.js';

let server: Awaited<ReturnType<typeof startS3Server>>;
let folder: string;
const opened: S3Store[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openbot-objects-'));
  server = await startS3Server();
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await server.close();
  await rm(folder, { recursive: true });
});

function openS3(policy = storePolicy(server.settings, [], { loopback: false })): S3Store {
  const store = new S3Store(server.settings, policy);
  opened.push(store);
  return store;
}
const stores: readonly (readonly [name: string, open: () => ObjectStore])[] = [
  ['a folder', () => new FolderStore(folder)],
  ['a bucket', () => openS3()],
];

const newProject = () => ({ organizationId: uuidv7(), projectId: uuidv7() });
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

async function allOf(store: ObjectStore, prefix: string, limit: number): Promise<string[]> {
  const keys: string[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.list(prefix, { after, limit });
    expect(page.keys.length).toBeLessThanOrEqual(limit);
    keys.push(...page.keys);
    if (page.next === null) return keys;
    after = page.next;
  }
}

describe.each(stores)('objects in %s', (_, open) => {
  const store = open;

  test('what was put is read again, byte for byte, also when it is empty or large, and replaced by the next', async () => {
    const key = `${projectPrefix(newProject())}output`;
    expect(await readObject(store(), key, 10)).toBeNull();
    for (const body of [randomBytes(3_000_000), Buffer.alloc(0), Buffer.from('Übersicht 🗂️')]) {
      await store().put(key, body);
      const read = await readObject(store(), key, 3_000_000);
      expect([read?.length, createHash('sha256').update(read!).digest('hex')]).toEqual([body.length, createHash('sha256').update(body).digest('hex')]);
    }
    await expect(readObject(store(), key, 5)).rejects.toThrow('longer than 5 bytes');
  });

  test('what was deleted is not there, and may be deleted again', async () => {
    const key = `${projectPrefix(newProject())}a/b`;
    await store().put(key, Buffer.from('x'));
    await store().delete(key);
    await store().delete(key);
    expect(await store().open(key)).toBeNull();
  });

  test('a page is in the order of bytes and goes on behind its last key, whatever is deleted meanwhile', async () => {
    const prefix = projectPrefix(newProject());
    const keys = ['a', 'a-b', 'a.b', 'a/b', 'a/b/c', 'a0', 'b/a', 'c_'].map((name) => prefix + name);
    for (const key of [...keys].reverse()) await store().put(key, Buffer.from(key));
    const sorted = [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    for (const limit of [1, 3, 8, 100]) expect(await allOf(store(), prefix, limit)).toEqual(sorted);
    expect(await allOf(store(), `${prefix}a/`, 10)).toEqual(sorted.filter((key) => key.startsWith(`${prefix}a/`)));
    const first = await store().list(prefix, { after: null, limit: 3 });
    for (const key of first.keys) await store().delete(key);
    expect((await store().list(prefix, { after: first.next, limit: 100 })).keys).toEqual(sorted.slice(3));
    for (const key of keys) expect(await readObject(store(), key, 100)).toEqual(sorted.indexOf(key) < 3 ? null : Buffer.from(key));
  });

  test('a project’s prefix finds nothing of another, and one without objects finds nothing', async () => {
    const [mine, other] = [newProject(), newProject()];
    const near = { organizationId: mine.organizationId, projectId: `${mine.projectId}-2` };
    for (const project of [mine, other, near]) await store().put(`${projectPrefix(project)}x`, Buffer.from('x'));
    expect(await allOf(store(), projectPrefix(mine), 10)).toEqual([`${projectPrefix(mine)}x`]);
    expect(await allOf(store(), projectPrefix(newProject()), 10)).toEqual([]);
  });

  test.each([
    '',
    'x',
    'org/x',
    'org//x',
    'org/../x',
    '../org/project/x',
    '/org/project/x',
    'org/project/',
    'org/project/.',
    'org/project/..',
    'org/project/A',
    'org/project/a b',
    'org/project/x~',
    'org/project/x\0',
    `org/project/${'x'.repeat(201)}`,
  ])('no key: %j', async (key) => {
    await expect(store().put(key, Buffer.from('x'))).rejects.toThrow(TypeError);
    await expect(store().open(key)).rejects.toThrow(TypeError);
    await expect(store().delete(key)).rejects.toThrow(TypeError);
  });

  test.each(['', 'org', 'org/', 'org/project', '../project/', 'org/project/../'])('no prefix: %j', async (prefix) => {
    await expect(store().list(prefix, { after: null, limit: 1 })).rejects.toThrow(TypeError);
  });

  test('many at once in one place, while its folders come and go', async () => {
    const prefix = projectPrefix(newProject());
    await Promise.all(
      upTo(60).map(async (each) => {
        const key = `${prefix}${each % 3}/${each}`;
        await store().put(key, Buffer.from(String(each)));
        if (each % 2 === 0) await store().delete(key);
      }),
    );
    expect(await allOf(store(), prefix, 7)).toHaveLength(30);
  });
});

test('a folder that was emptied holds no folders, and half a file is no object', async () => {
  const project = newProject();
  const store = new FolderStore(folder);
  await store.put(`${projectPrefix(project)}a/b/c`, Buffer.from('x'));
  await store.delete(`${projectPrefix(project)}a/b/c`);
  expect(await readdir(folder)).not.toContain(project.organizationId);
  await mkdir(join(folder, project.organizationId, project.projectId), { recursive: true });
  await writeFile(join(folder, project.organizationId, project.projectId, 'half'), 'x');
  expect(await allOf(store, projectPrefix(project), 10)).toEqual([]);
});

test('a bucket is reached through the guard: the server that the operator named, and no other private one', async () => {
  const key = `${projectPrefix(newProject())}x`;
  await openS3().put(key, Buffer.from('x'));
  await expect(openS3(addressPolicy([], { loopback: false })).put(key, Buffer.from('x'))).rejects.toThrow(EgressRefusedError);
  const named = { ...server.settings, endpoint: server.settings.endpoint.replace('127.0.0.1', 'localhost') };
  const byName = new S3Store(named, storePolicy(named, [], { loopback: false }));
  const refused = new S3Store(named, addressPolicy([], { loopback: false }));
  opened.push(byName, refused);
  expect(await readObject(byName, key, 10)).toEqual(Buffer.from('x'));
  await expect(refused.open(key)).rejects.toThrow('is refused: address');
});
