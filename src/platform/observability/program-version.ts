import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Of the package that this file belongs to, wherever it was built to. */
export function programVersion(folder = __dirname): string {
  const file = join(folder, 'package.json');
  if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  return folder === dirname(folder) ? 'unknown' : programVersion(dirname(folder));
}
