import Module from 'node:module';
import type { Config } from 'jest';

type Resolve = (request: string, parent: { readonly filename?: string } | undefined, ...rest: unknown[]) => string;

/** Jest applies its module names to tests and not to its own set-up: this applies them there too, for our files alone. */
export function resolveAliases({ moduleNameMapper }: { readonly moduleNameMapper: readonly (readonly [string, string | string[]])[] } & Omit<Config, 'moduleNameMapper'>): void {
  const names = moduleNameMapper.map(([pattern, target]) => [new RegExp(pattern), String(target)] as const);
  const node = Module as unknown as { _resolveFilename: Resolve };
  const resolve = node._resolveFilename;
  node._resolveFilename = (request, parent, ...rest) => {
    const named = parent?.filename?.includes('node_modules') ? undefined : names.find(([pattern]) => pattern.test(request));
    return resolve.call(Module, named ? request.replace(named[0], named[1]) : request, parent, ...rest);
  };
}
