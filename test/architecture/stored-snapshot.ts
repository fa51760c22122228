import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './planted-tree.js';

/** `npm run snapshots` writes what a plain test run compares. */
const writes = process.env['OPENBOT_SNAPSHOTS'] === 'write';

/** Fails with the first lines that differ, and with what to do. */
export async function compareWithStored(file: string, text: string): Promise<void> {
  const path = join(root, file);
  if (writes) await writeFile(path, text);
  const stored = await readFile(path, 'utf8').catch(() => '');
  if (stored !== text) throw new Error(`${file} has changed. If that is meant: npm run snapshots, and read the difference.\n${firstDifference(stored, text)}`);
}

function firstDifference(stored: string, text: string): string {
  const [before, after] = [stored.split('\n'), text.split('\n')];
  const line = after.findIndex((value, index) => value !== before[index]);
  const at = line < 0 ? after.length : line;
  return `line ${at + 1}\n- ${before.slice(at, at + 5).join('\n- ')}\n+ ${after.slice(at, at + 5).join('\n+ ')}`;
}
