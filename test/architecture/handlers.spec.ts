import { ModulesContainer } from '@nestjs/core';
import { dirname } from 'node:path';
import { openRealApp } from './real-app.js';
import { listClasses, type FoundClass } from './source-files.js';

const classes = listClasses();
const handledBy = ({ decorators }: FoundClass): string[] =>
  decorators.filter(({ name }) => name === 'CommandHandler' || name === 'QueryHandler').flatMap(({ argument }) => (argument ? [argument] : []));
const handlers = classes.filter((found) => handledBy(found).length > 0);
// A phase is a command that returns nothing to its caller, so it extends nothing: it is one by its place.
const isPhase = (found: FoundClass): boolean => found.file.includes('/sagas/phases/') && !handlers.includes(found);
const messages = classes.filter((found) => found.base === 'Command' || found.base === 'Query' || isPhase(found));
const at = ({ file, name }: FoundClass): string => `${name} (${file})`;
const repeated = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) !== index);

describe('commands and queries', () => {
  test('every name is there once, because a bus finds a handler by it', () => {
    expect(repeated(messages.map(({ name }) => name))).toEqual([]);
    expect(repeated(handlers.map(({ name }) => name))).toEqual([]);
    expect(messages.length).toBeGreaterThan(10);
  });

  test('each has exactly one handler', () => {
    const handled = handlers.flatMap(handledBy);
    expect(repeated(handled)).toEqual([]);
    expect(messages.filter(({ name }) => !handled.includes(name)).map(at)).toEqual([]);
  });

  test('each handler is for a message that is declared', () => {
    const names = messages.map(({ name }) => name);
    expect(handlers.filter((handler) => !handledBy(handler).every((name) => names.includes(name))).map(at)).toEqual([]);
  });

  test('class and handler share a file, or the class is in public/ of the same context', () => {
    const contextOf = (file: string): string => /^(src\/contexts\/[^/]+|libs\/[^/]+|src\/platform\/[^/]+)\//.exec(file)?.[1] ?? file;
    const apart = handlers.filter((handler) =>
      handledBy(handler).some((name) => {
        const message = messages.find((candidate) => candidate.name === name);
        if (!message || message.file === handler.file) return false;
        return !(contextOf(message.file) === contextOf(handler.file) && dirname(message.file).includes('/public'));
      }),
    );
    expect(apart.map(at)).toEqual([]);
  });

  test('every handler is a provider of the running server, once', async () => {
    const { app, close } = await openRealApp();
    try {
      const provided = [...app.get(ModulesContainer).values()].flatMap((module) =>
        [...module.providers.values()].map(({ metatype }) => (metatype as { name?: string } | null)?.name ?? ''),
      );
      const counted = handlers.map((handler) => [handler.name, provided.filter((name) => name === handler.name).length]);
      expect(counted.filter(([, count]) => count !== 1)).toEqual([]);
    } finally {
      await close();
    }
  });

  test('a workflow has one saga', () => {
    const workflows = classes.flatMap(({ decorators }) => decorators.filter(({ name }) => name === 'Workflow').map(({ argument }) => argument ?? ''));
    expect(repeated(workflows)).toEqual([]);
  });
});
