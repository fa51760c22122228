const typescript = {
  swcrc: false,
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true, dynamicImport: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    keepClassNames: true,
  },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '..',
  testEnvironment: '<rootDir>/config/jest-environment.cjs',
  testRegex: '\\.spec\\.ts$',
  // The long proofs have commands of their own: config/jest.proofs.cjs.
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '<rootDir>/test/proof/'],
  moduleFileExtensions: ['ts', 'js', 'json', 'mjs', 'cjs', 'node'],
  transform: { '^.+\\.ts$': ['@swc/jest', typescript], '^.+\\.m?js$': '<rootDir>/config/jest-esm-deps.cjs' },
  transformIgnorePatterns: ['/node_modules/(@swc|typescript)/'],
  moduleNameMapper: {
    '^@domain/(.*)\\.js$': '<rootDir>/libs/domain/src/$1',
    '^@core/(.*)\\.js$': '<rootDir>/libs/core/src/$1',
    '^@engine/(.*)\\.js$': '<rootDir>/libs/engine/src/$1',
    '^@platform/(.*)\\.js$': '<rootDir>/src/platform/$1',
    '^@contexts/(.*)\\.js$': '<rootDir>/src/contexts/$1',
    '^@migrations/(.*)\\.js$': '<rootDir>/migrations/$1',
    '^@test/(.*)\\.js$': '<rootDir>/test/$1',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Most tests wait for servers and processes: two files at once use two cores.
  maxWorkers: 2,
  testTimeout: 60_000,
};
