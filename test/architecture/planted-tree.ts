import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export const root = resolve(__dirname, '../..');

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a Node program and answers with its exit code: a check that reports findings exits with one. */
export function runNode(args: readonly string[], cwd: string): Promise<Ran> {
  return new Promise((answer) => {
    execFile(process.execPath, [...args], { cwd, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      answer({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}

/** A small tree laid out as this repository, with its own compiler settings and rules, in a temporary folder. */
export async function plantTree(files: Readonly<Record<string, string>>): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'openbot-planted-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  await cp(join(root, 'tsconfig.json'), join(path, 'tsconfig.json'));
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
