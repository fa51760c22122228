import tseslint from 'typescript-eslint';
import { house } from './eslint-house.mjs';

const source = ['src/**/*.ts', 'libs/**/*.ts', 'libs/**/*.tsx'];
const tests = ['**/*.spec.ts', 'test/**/*.ts'];
const restrict = (...names) => ['error', ...names.map((name) => house.syntax[name])];

export default tseslint.config(
  { ignores: ['**/node_modules/', '**/dist/', 'coverage/', '.openbot/', 'libs/client/generated/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{js,cjs,mjs}'],
    rules: { 'max-lines': ['error', 400], 'no-undef': 'off', 'no-var': 'error', 'prefer-const': 'error', eqeqeq: ['error', 'always', { null: 'ignore' }] },
  },
  {
    files: ['**/*.{ts,tsx}'],
    plugins: { '@typescript-eslint': tseslint.plugin, house: house.plugin },
    languageOptions: {
      parser: tseslint.parser,
      // Both decorator options let consistent-type-imports keep the values that Nest reads from a constructor's parameters.
      parserOptions: { projectService: true, tsconfigRootDir: process.cwd(), emitDecoratorMetadata: true, experimentalDecorators: true },
    },
    rules: {
      // Size: where a reader loses the thread.
      'max-lines': ['error', 400],
      'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 15],
      'max-depth': ['error', 3],
      'max-params': ['error', 5],
      'max-nested-callbacks': ['error', 4],
      // A lost promise is a lost failure.
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true, allow: [{ from: 'file', name: 'Rollback' }] }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      'no-async-promise-executor': 'error',
      // Every state and every failure is answered.
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { prefer: 'type-imports', fixStyle: 'inline-type-imports', disallowTypeAnnotations: false }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none', ignoreRestSiblings: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/ban-ts-comment': 'error',
      '@typescript-eslint/no-require-imports': 'error',
      '@typescript-eslint/no-base-to-string': 'error',
      '@typescript-eslint/restrict-plus-operands': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-var': 'error',
      'prefer-const': 'error',
      'no-else-return': 'error',
      'no-unreachable': 'error',
      'no-constant-binary-expression': 'error',
      'no-self-compare': 'error',
      'no-unsafe-finally': 'error',
      'no-control-regex': 'off',
      'no-eval': 'error',
      'no-new-func': 'error',
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'start' }],
      // The house's own.
      'house/file-name': 'error',
      'no-restricted-imports': ['error', { paths: house.imports }],
    },
  },
  {
    files: source,
    ignores: tests,
    rules: { 'no-console': 'error', 'no-restricted-syntax': restrict('environment', 'transientSaga', 'aggregateRoot') },
  },
  { files: ['src/platform/config/**/*.ts'], rules: { 'no-restricted-syntax': restrict('transientSaga', 'aggregateRoot') } },
  // What a person reads in the terminal at a start, and the command-line client.
  { files: house.speaksToTerminal, rules: { 'no-console': 'off' } },
  {
    files: tests,
    rules: {
      'max-lines-per-function': 'off',
      'max-nested-callbacks': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      'no-restricted-syntax': restrict('focusedTest', 'sleep'),
    },
  },
  // Support code polls for the facts that tests wait for.
  { files: ['test/support/**/*.ts', 'test/bench/**/*.ts'], rules: { 'no-restricted-syntax': restrict('focusedTest') } },
);
