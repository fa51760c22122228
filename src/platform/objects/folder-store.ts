import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { checkKey, checkPrefix, ObjectStore, type ObjectPage } from './object-store.js';

/** A file's name ends with what no part of a key has: `a/b` and `a/b/c` are two objects, and a file and a folder of one name are none. */
const mark = '~';
const writing = '.writing';
/** Somebody who deletes removes folders that became empty, also one that was made for this file a moment ago. */
const attempts = 10;

const missing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
const inUse = (error: unknown): boolean => ['ENOTEMPTY', 'EEXIST', 'EBUSY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Objects as files of one folder, for development: every process of the installation has to see the same folder. */
export class FolderStore extends ObjectStore {
  private readonly root: string;

  constructor(folder: string) {
    super();
    this.root = resolve(folder);
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    const path = this.pathOf(key);
    const half = join(this.root, writing, randomUUID());
    await mkdir(dirname(half), { recursive: true });
    try {
      await writeFile(half, body, { flush: true });
      await this.place(half, path);
    } catch (error) {
      await rm(half, { force: true });
      throw error;
    }
  }

  async open(key: string): Promise<Readable | null> {
    try {
      const file = await open(this.pathOf(key));
      return createReadStream('', { fd: file });
    } catch (error) {
      if (missing(error)) return null;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    const path = this.pathOf(key);
    try {
      await unlink(path);
      await this.tidy(dirname(path));
    } catch (error) {
      if (!missing(error)) throw error;
    }
  }

  async list(prefix: string, { after, limit }: { readonly after: string | null; readonly limit: number }): Promise<ObjectPage> {
    const keys = await this.keysBelow(checkPrefix(prefix));
    const behind = keys.filter((key) => after === null || key > after).sort((a, b) => (a < b ? -1 : 1));
    const page = behind.slice(0, limit);
    return { keys: page, next: behind.length > limit ? (page.at(-1) ?? null) : null };
  }

  private async place(half: string, path: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Whoever deletes takes empty folders away, also while this makes them.
        await mkdir(dirname(path), { recursive: true });
        return await rename(half, path);
      } catch (error) {
        if (!missing(error) || attempt === attempts) throw error;
      }
    }
  }

  private pathOf(key: string): string {
    return join(this.root, `${checkKey(key)}${mark}`);
  }

  private async keysBelow(prefix: string): Promise<string[]> {
    const entries = await readdir(join(this.root, prefix), { withFileTypes: true }).catch((error: unknown) => {
      if (missing(error)) return [];
      throw error;
    });
    const found = await Promise.all(
      entries.map(async (entry) => {
        if (entry.isDirectory()) return this.keysBelow(`${prefix}${entry.name}/`);
        return entry.isFile() && entry.name.endsWith(mark) ? [prefix + entry.name.slice(0, -mark.length)] : [];
      }),
    );
    return found.flat();
  }

  /** Removes folders that hold nothing any more, up to the root. */
  private async tidy(folder: string): Promise<void> {
    for (let each = folder; each !== this.root; each = dirname(each)) {
      try {
        await rmdir(each);
      } catch (error) {
        if (inUse(error) || missing(error)) return;
        throw error;
      }
    }
  }
}
