import { join } from 'node:path';
import { plantTree, root, runNode } from './planted-tree.js';

type Finding = { readonly ruleId: string | null; readonly message: string };
type Linted = { readonly filePath: string; readonly messages: readonly Finding[] };

const many = (count: number, line: (index: number) => string): string => Array.from({ length: count }, (_, index) => line(index)).join('\n');
const load = 'declare function load(): Promise<number>;';

/** What the rule is for → the rule, and the one file that breaks it. */
const planted: Readonly<Record<string, readonly [rule: string, file: string, text: string]>> = {
  'a promise that nobody awaits': ['@typescript-eslint/no-floating-promises', 'src/contexts/a/floating.ts', `${load}\nexport function floating(): void {\n  load();\n}`],
  'a promise where a boolean is asked': ['@typescript-eslint/no-misused-promises', 'src/contexts/a/misused.ts', `${load}\nexport const misused = (): number => (load() ? 1 : 0);`],
  'a state without an answer': [
    '@typescript-eslint/switch-exhaustiveness-check',
    'src/contexts/a/states.ts',
    `export function answer(state: 'open' | 'closed'): number {\n  switch (state) {\n    case 'open':\n      return 1;\n  }\n  return 2;\n}`,
  ],
  'the type any': ['@typescript-eslint/no-explicit-any', 'src/contexts/a/loose.ts', `export const loose = (value: any): unknown => value;`],
  'a type imported as a value': [
    '@typescript-eslint/consistent-type-imports',
    'src/contexts/a/values.ts',
    `import { Stats } from 'node:fs';\nexport const size = (stats: Stats): number => stats.size;`,
  ],
  'a file over 400 lines': ['max-lines', 'src/contexts/a/long.ts', many(401, (index) => `export const line${index} = ${index};`)],
  'a function with too many ways through': [
    'complexity',
    'src/contexts/a/branches.ts',
    `export function branches(n: number): number {\n${many(16, (index) => `  if (n === ${index}) return ${index};`)}\n  return -1;\n}`,
  ],
  'too deep nesting': [
    'max-depth',
    'src/contexts/a/deep.ts',
    `export function deep(n: number): number {\n  if (n > 1) {\n    if (n > 2) {\n      if (n > 3) {\n        if (n > 4) {\n          return 4;\n        }\n      }\n    }\n  }\n  return 0;\n}`,
  ],
  'too many parameters': [
    'max-params',
    'src/contexts/a/wide.ts',
    `export const wide = (a: number, b: number, c: number, d: number, e: number, f: number): number => a + b + c + d + e + f;`,
  ],
  'a setting read outside platform/config': ['no-restricted-syntax', 'src/contexts/a/setting.ts', `export const port = process.env['PORT'];`],
  'a saga that is not stored': ['no-restricted-imports', 'src/contexts/a/transient.ts', `import { Saga } from '@nestjs/cqrs';\nexport const transient = Saga;`],
  'a name that says nothing': ['house/file-name', 'src/contexts/a/date-utils.ts', `export const today = 1;`],
  'a folder that says nothing': ['house/file-name', 'src/contexts/a/helpers/dates.ts', `export const today = 1;`],
  'output past the log': ['no-console', 'src/contexts/a/loud.ts', `export const loud = (): void => console.log('hello');`],
  'a test that never runs': ['no-restricted-syntax', 'test/integration/skipped.spec.ts', `test.skip('later', () => undefined);`],
  'a test that sleeps': ['no-restricted-syntax', 'test/integration/sleepy.spec.ts', `test('waits', () => new Promise((resolve) => setTimeout(resolve, 100)));`],
};

/** The same texts where they belong. */
const allowed = {
  'src/platform/config/env.ts': `export const port = process.env['PORT'];`,
  'libs/cli/src/hello.ts': `export const loud = (): void => console.log('hello');`,
  'test/support/eventually.ts': `export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));`,
};

describe('a planted violation of the lint rules', () => {
  let findings: (file: string) => string[];
  beforeAll(async () => {
    const files = { ...allowed, ...Object.fromEntries(Object.values(planted).map(([, file, text]) => [file, `${text}\n`])) };
    const tree = await plantTree(files);
    const args = [join(root, 'node_modules/eslint/bin/eslint.js'), '--config', join(root, 'config/eslint.config.mjs'), '--format', 'json', '.'];
    const { stdout, stderr } = await runNode(args, tree.path);
    await tree.remove();
    if (!stdout.startsWith('[')) throw new Error(`the lint check did not run: ${stderr || stdout}`);
    const linted = JSON.parse(stdout) as readonly Linted[];
    findings = (file) => linted.filter((entry) => entry.filePath.endsWith(`/${file}`)).flatMap((entry) => entry.messages.map((finding) => finding.ruleId ?? finding.message));
  });

  test.each(Object.entries(planted))('%s is reported, and nothing else', (_, [rule, file]) => {
    expect([...new Set(findings(file))]).toEqual([rule]);
  });

  test.each(Object.keys(allowed))('%s may do what others may not', (file) => {
    expect(findings(file)).toEqual([]);
  });
});
