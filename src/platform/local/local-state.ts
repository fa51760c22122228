import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '@platform/config/config.js';
import { isAlive, until } from './postmaster.js';
import { writePrivateFile } from './private-file.js';
import { StartFailure } from './start-failure.js';

/** What a development server leaves for its user's tools. Readable by its owner alone: it holds a credential. */
export type LocalState = {
  readonly url: string;
  readonly token: string;
  readonly organizationId: string;
  readonly projectId: string;
  readonly memberId: string;
  readonly botId: string;
};

/** The state of a development server lies in the folder that it is started in. */
export const stateFolder = (): string => resolve('.openbot');
/** Where the embedded PostgreSQL of this folder has its data. */
export const databaseFolder = (): string => join(stateFolder(), 'postgres');

const explain = (error: unknown, folder: string): unknown => {
  const { code } = error as NodeJS.ErrnoException;
  return ['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')
    ? new StartFailure(`${folder} cannot be written (${code}): start as the user who owns it, or remove it to begin anew.`)
    : error;
};

export async function readLocalState(folder = stateFolder()): Promise<LocalState | null> {
  try {
    return JSON.parse(await readFile(join(folder, 'local.json'), 'utf8')) as LocalState;
  } catch {
    // Missing or half a file of another program: the state is made again.
    return null;
  }
}

export async function writeLocalState(state: LocalState, folder = stateFolder()): Promise<void> {
  // A start with a database and keys of its own has made no folder yet.
  await mkdir(folder, { recursive: true });
  await writePrivateFile(join(folder, 'local.json'), `${JSON.stringify(state, null, 2)}\n`);
}

/** The key that seals a development server's data. Made once: another one could not open what this one sealed. */
export async function developmentKeys(folder = stateFolder()): Promise<Config['encryptionKeys']> {
  const file = join(folder, 'encryption-key');
  try {
    await mkdir(folder, { recursive: true });
    const found = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    const key = found === null ? randomBytes(32) : Buffer.from(found.trim(), 'base64');
    if (key.length !== 32) throw new StartFailure(`${file} is damaged: put it back, or remove ${folder} to begin anew without its data.`);
    if (found === null) await writePrivateFile(file, `${key.toString('base64')}\n`);
    return [{ id: 'development', key }];
  } catch (error) {
    throw explain(error, folder);
  }
}

/**
 * Runs `work` while no other process does so for this folder. A process that died in it does not count, and neither does its number when
 * it has become ours (in a container every start may have the same one).
 */
export async function alone<A>(folder: string, work: () => Promise<A>, waitMs = 60_000): Promise<A> {
  const file = join(folder, 'starting');
  const take = async (): Promise<boolean> => {
    const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return null;
      throw explain(error, folder);
    });
    if (handle) {
      await handle.writeFile(String(process.pid)).finally(() => handle.close());
      return true;
    }
    const holder = Number(await readFile(file, 'utf8').catch(() => ''));
    if (holder > 0 && (holder === process.pid || !isAlive(holder))) await rm(file, { force: true });
    return false;
  };
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw explain(error, folder);
  });
  if (!(await until(take, waitMs))) throw new StartFailure(`Another start in ${folder} is still under way: wait for it, or remove ${file} when there is none.`);
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}
