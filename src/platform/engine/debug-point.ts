import { readFileSync, renameSync } from 'node:fs';

type Armed = { readonly name: string; readonly count: number; readonly signal: string };

function parse(setting: string): Armed {
  const [, name = '', count, signal] = /^([^#@]+)(?:#(\d+))?(?:@(SIG[A-Z]+))?$/.exec(setting) ?? [];
  return { name, count: Number(count ?? 1), signal: signal ?? 'SIGKILL' };
}

/**
 * `name`, `name#2` for its second time, `name@SIGSTOP` to pause instead of kill. `file:/path` reads the same from a file whenever a point is reached: the
 * first of several processes that gets to its point takes the file away, as `/path.<pid>`. Set by `OPENBOT_DEBUG_POINT`, refused in production.
 */
export function debugPoint(setting: string | null): (point: string) => void {
  if (setting === null) return () => undefined;
  return setting.startsWith('file:') ? fromFile(setting.slice('file:'.length)) : fixed(parse(setting));
}

function fixed({ name, count, signal }: Armed): (point: string) => void {
  let left = count;
  return (point) => {
    if (point !== name) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, signal);
  };
}

function fromFile(path: string): (point: string) => void {
  let last = '';
  let reached = 0;
  return (point) => {
    const setting = readOrNull(path);
    if (setting === null) return;
    if (setting !== last) [last, reached] = [setting, 0];
    const { name, count, signal } = parse(setting.split(' ')[0] ?? '');
    if (point !== name) return;
    reached += 1;
    if (reached === count && taken(path)) process.kill(process.pid, signal);
  };
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

function taken(path: string): boolean {
  try {
    renameSync(path, `${path}.${process.pid}`);
    return true;
  } catch {
    return false; // Another process was first.
  }
}
