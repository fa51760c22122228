import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(__dirname, '..', '..');
const sources = ['src', 'libs', 'migrations', 'config/swc.json'];
const builds = join(root, 'node_modules', '.cache', 'openbot-built');
const keptMs = 3_600_000;

async function filesIn(path: string): Promise<string[]> {
  const entry = await stat(path);
  if (!entry.isDirectory()) return [`${path}:${entry.size}:${entry.mtimeMs}`];
  const names = (await readdir(path)).filter((name) => name !== 'node_modules').sort();
  return (await Promise.all(names.map((name) => filesIn(join(path, name))))).flat();
}

async function fingerprint(): Promise<string> {
  const files = (await Promise.all(sources.map((source) => filesIn(join(root, source))))).flat();
  return createHash('sha256').update(files.join('\n')).digest('hex').slice(0, 16);
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(builds)) {
    const made = await stat(join(builds, name)).catch(() => null);
    if (made && Date.now() - made.mtimeMs > keptMs) await rm(join(builds, name), { recursive: true, force: true });
  }
}

/** The folder of the program as it is now, built once for each state of its sources. Test processes that build it at once do no harm to each other. */
export async function builtServer(): Promise<string> {
  await mkdir(builds, { recursive: true });
  const built = join(builds, await fingerprint());
  if (await stat(built).catch(() => null)) return built;
  await removeOld();
  const making = `${built}-${randomBytes(4).toString('hex')}`;
  const options = ['--config-file', 'config/swc.json', '--out-dir', making, '--quiet'];
  await promisify(execFile)(process.execPath, ['node_modules/@swc/cli/bin/swc.js', 'src', 'libs', 'migrations', ...options], { cwd: root });
  // Whoever comes second finds the same there.
  await rename(making, built).catch(() => rm(making, { recursive: true, force: true }));
  return built;
}
