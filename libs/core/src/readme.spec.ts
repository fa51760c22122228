import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import { transformSync } from '@swc/core';
import * as host from './in-memory-host.js';
import * as scripted from './testing/scripted-model.js';
import * as tool from './tool.js';

const modules: Readonly<Record<string, object>> = {
  '@core/in-memory-host.js': host,
  '@core/testing/scripted-model.js': scripted,
  '@core/tool.js': tool,
};

/** Runs TypeScript with the modules above and returns the first `count` lines that it logs. */
function linesOf(source: string, count: number): Promise<readonly string[]> {
  const { code } = transformSync(source, { swcrc: false, configFile: false, jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } });
  return new Promise((resolve) => {
    const lines: string[] = [];
    const log = (...words: readonly unknown[]) => {
      if (lines.push(words.join(' ')) === count) resolve(lines);
    };
    const required = (name: string) => modules[name] ?? fail(`The example imports ${name}.`);
    compileFunction(code, ['require', 'exports', 'console'])(required, {}, { log });
  });
}
function fail(message: string): never {
  throw new Error(message);
}

test('the example of the README holds a conversation as it stands', async () => {
  const readme = readFileSync(join(__dirname, '../README.md'), 'utf8');
  const [example = ''] = [...readme.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1]);
  expect(await linesOf(example, 2)).toEqual(['It is -3 °C in Oslo. (2 steps)', 'Yes, take a coat. (2 items)']);
});
