import { chown, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file that its owner alone can read, and that is there as a whole or not at all. Made by root, it belongs to the owner of its folder. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const writing = `${file}.${process.pid}`;
  await rm(writing, { force: true });
  await writeFile(writing, text, { mode: 0o600, flag: 'wx' });
  if (process.getuid?.() === 0) {
    const { uid, gid } = await stat(dirname(file));
    await chown(writing, uid, gid);
  }
  await rename(writing, file);
}
