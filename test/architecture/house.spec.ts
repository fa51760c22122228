import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from './planted-tree.js';
import { listFiles, readSource } from './source-files.js';

const written = /\.(ts|tsx|js|cjs|mjs|sh)$/;
const ours = ['src', 'libs', 'migrations', 'test', 'config'];
const generated = /^libs\/client\/generated\//;
const countLines = (file: string): number => readSource(file).split('\n').length - 1;

test('no file is over 400 lines', () => {
  const files = listFiles(...ours).filter((file) => written.test(file) && !generated.test(file));
  expect(files.filter((file) => countLines(file) > 400).map((file) => `${file}: ${countLines(file)}`)).toEqual([]);
  expect(files.length).toBeGreaterThan(50);
});

test('no name says nothing, and no file only forwards', () => {
  const nothing = /^(utils?|helpers?|common|misc|shared|index)$/;
  const parts = (file: string): string[] => file.split('/').map((part) => part.split('.')[0] ?? part);
  expect(listFiles(...ours).filter((file) => parts(file).some((part) => nothing.test(part)))).toEqual([]);
  expect(listFiles('src', 'libs').filter((file) => /\.(service|repository|mapper)\.ts$/.test(file))).toEqual([]);
});

test('the root holds what it may hold', () => {
  const allowed = [
    'src',
    'libs',
    'migrations',
    'test',
    'config',
    'docker',
    'docs',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'ormconfig.ts',
    'README.md',
    'AGENTS.md',
    'LICENSE',
  ];
  const made = ['node_modules', 'dist', 'coverage'];
  const found = readdirSync(root).filter((name) => !name.startsWith('.') && !name.endsWith('.log'));
  expect(found.filter((name) => ![...allowed, ...made].includes(name))).toEqual([]);
});

test('an open question has an owner, and is not left in the code', () => {
  // Written so that this line is not its own finding.
  const marks = new RegExp(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].map((mark) => `\\b${mark}\\b`).join('|'));
  const files = listFiles('src', 'libs', 'migrations', 'config').filter((file) => written.test(file));
  expect(files.filter((file) => marks.test(readSource(file)))).toEqual([]);
});

describe('packages', () => {
  type Manifest = Record<'dependencies' | 'devDependencies' | 'optionalDependencies' | 'overrides', Record<string, unknown> | undefined>;
  const manifests = ['package.json', 'test/bench/package.json'].filter((file) => existsSync(join(root, file)));

  test.each(manifests)('%s pins exact versions', (file) => {
    const manifest = JSON.parse(readSource(file)) as Manifest;
    const named = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies].flatMap((group) => Object.entries(group ?? {}));
    expect(named.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([]);
    expect(named.length).toBeGreaterThan(0);
  });

  test('each is named once', () => {
    const manifest = JSON.parse(readSource('package.json')) as Manifest;
    const names = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies].flatMap((group) => Object.keys(group ?? {}));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test('what is installed is what is named', async () => {
    const problems = await new Promise<string>((answer) => {
      execFile('npm', ['ls', '--all', '--json'], { cwd: root, maxBuffer: 64 << 20 }, (error, stdout) => {
        const { problems: found = [] } = JSON.parse(stdout) as { readonly problems?: readonly string[] };
        answer(error ? found.join('\n') || error.message : '');
      });
    });
    expect(problems).toBe('');
  });
});

test('the files name no package server', () => {
  const lock = readSource('package-lock.json');
  expect(/"resolved": "https?:/.test(lock)).toBe(false);
  expect(listFiles('config', '.ci').filter((file) => /registry\.\w+\.\w+/.test(readSource(file)))).toEqual([]);
});

test('a spec says what it is about', () => {
  expect(listFiles('test', 'src', 'libs').filter((file) => file.endsWith('.spec.ts') && !/^[a-z0-9-]+(\.[a-z0-9-]+)*\.spec\.ts$/.test(basename(file)))).toEqual([]);
});
