import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readlink, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { canReach, type ServerUser } from './postgres-binaries.js';
import { StartFailure } from './start-failure.js';

/** Nobody, on every system that we ship for. */
const nobody = { uid: 65534, gid: 65534 };

/** A folder of root's that every user can pass through, for what must not lie under a home that nobody else may enter. */
async function sharedFolder(): Promise<string> {
  for (const folder of ['/var/lib/openbot', '/usr/local/var/openbot', join(tmpdir(), 'openbot-root')]) {
    try {
      await mkdir(folder, { recursive: true });
      const { uid, mode } = await lstat(folder);
      // A folder that somebody else made could hold anything.
      if (uid !== 0 || (mode & 0o022) !== 0) continue;
      await chmod(folder, 0o755);
      if (await canReach(folder, nobody)) return folder;
    } catch {
      continue;
    }
  }
  throw new StartFailure('As root the embedded PostgreSQL needs a folder that other users can reach (/var/lib/openbot): start as another user, or set DATABASE_URL.');
}

async function makeSharedPlace(folder: string, link: string): Promise<string> {
  const project = basename(dirname(dirname(resolve(folder)))) || 'root';
  const place = join(await sharedFolder(), `${project}-${randomBytes(6).toString('hex')}`);
  await mkdir(place, { mode: 0o711 });
  await chmod(place, 0o711);
  await symlink(join(place, 'data'), link);
  return join(place, 'data');
}

/**
 * The data folder of `folder`, and the user that its server runs as. PostgreSQL refuses to run as root: as root it runs as nobody
 * (or as the user whose data it is) on data that this user can reach, with `folder/data` as a link to them where they lie elsewhere.
 * The link is followed ever after, so that a project that was moved keeps its data.
 */
export async function dataPlace(folder: string): Promise<{ readonly data: string; readonly user: ServerUser }> {
  await mkdir(folder, { recursive: true });
  const inside = join(resolve(folder), 'data');
  if (process.getuid?.() !== 0) return { data: inside, user: null };

  const present = await stat(inside).catch(() => null);
  const user = present && present.uid !== 0 ? { uid: present.uid, gid: present.gid } : nobody;
  const entry = await lstat(inside).catch(() => null);
  if (entry?.isSymbolicLink()) {
    const data = await readlink(inside);
    await mkdir(dirname(data), { recursive: true, mode: 0o711 });
    return { data, user };
  }
  await chmod(folder, 0o755);
  if (await canReach(folder, user)) return { data: inside, user };
  if (entry) throw new StartFailure(`PostgreSQL does not run as root, and another user cannot enter the folders above ${inside}: start as their owner, or move the project.`);
  return { data: await makeSharedPlace(folder, inside), user };
}

/** Where a copy of the server's programs may lie: beside the data where the server can reach it, else in the shared folder. */
export async function reachableCache(folder: string, user: ServerUser): Promise<string> {
  return !user || (await canReach(folder, user)) ? folder : sharedFolder();
}
