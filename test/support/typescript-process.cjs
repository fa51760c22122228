/**
 * Lets a process of its own run TypeScript as the tests do: `node -r test/support/typescript-process.cjs file.ts`. Takes the aliases and the
 * transformation from Jest's configuration, so that there is one of each.
 */
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const { join } = require('node:path');
const { transformSync } = require('@swc/core');
const { moduleNameMapper, transform } = require('../../config/jest.config.cjs');

const root = join(__dirname, '..', '..');
const [, options] = transform['^.+\\.ts$'];
const names = Object.entries(moduleNameMapper).map(([pattern, target]) => [new RegExp(pattern), target.replace('<rootDir>', root)]);

Module._extensions['.ts'] = (module, filename) => {
  module._compile(transformSync(readFileSync(filename, 'utf8'), { ...options, filename, configFile: false }).code, filename);
};

const resolve = Module._resolveFilename;
Module._resolveFilename = (request, parent, ...rest) => {
  const named = parent?.filename?.includes('node_modules') ? undefined : names.find(([pattern]) => pattern.test(request));
  return resolve.call(Module, named ? request.replace(named[0], named[1]) : request, parent, ...rest);
};
