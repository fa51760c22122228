import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './planted-tree.js';
import { listFiles, readSource } from './source-files.js';

const page = readSource('docs/security.md');

/** Each test that the page names: its file, and a part of its title. */
const named = [...page.matchAll(/`((?:test|src|libs)\/[\w./-]+\.spec\.ts)` › "([^"]*)"/g)].map(([, file = '', title = '']) => ({ file, title }));
const risks = page.split('\n').filter((line) => /^\| API\d+ /.test(line));

test('every test that the page names is there', () => {
  const missing = named.filter(({ file, title }) => !existsSync(join(root, file)) || !readSource(file).includes(title));
  expect(missing).toEqual([]);
  expect(named.length).toBeGreaterThan(20);
});

test('each of the ten risks names a test', () => {
  expect(risks.map((line) => /^\| (API\d+) /.exec(line)?.[1])).toEqual(Array.from({ length: 10 }, (_, risk) => `API${risk + 1}`));
  expect(risks.filter((line) => !line.includes('.spec.ts` › '))).toEqual([]);
});

describe('secrets are compared in constant time', () => {
  /** Two values of which neither is what a caller has to know. */
  const reasoned: Readonly<Record<string, string>> = {
    'src/platform/database/key-check.ts': "The operator's own keys, at a start.",
    'libs/engine/src/admit.ts': 'Both are MACs of what the same caller sent: a conflict tells nothing else.',
    'libs/domain/src/audit/verify.ts': 'Heads of chains, which auditors read.',
    'src/contexts/accounts/commands/change-password.command.ts': 'Whether the stored hash is still the one that was read.',
    'src/contexts/accounts/commands/sign-in.command.ts': 'Whether the stored hash is still the one that was read.',
  };
  const naive = /\.equals\(|Buffer\.compare|(?:hash|mac|secret|csrf|digest|password)\w*\)?\s*[!=]==(?!\s*(?:null|undefined|''|'string'))/i;
  const compares = (source: string): boolean => source.split('\n').some((line) => naive.test(line) && !/^\s*(\*|\/\/)/.test(line));

  test('nowhere else', () => {
    const found = listFiles('src', 'libs').filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && compares(readSource(file)));
    expect(found.filter((file) => !(file in reasoned))).toEqual([]);
  });

  test.each(['if (row.hash === given) return;', 'return stored.equals(hash);', 'const same = csrfToken !== wanted;'])('"%s" is found', (line) => expect(compares(line)).toBe(true));
});
