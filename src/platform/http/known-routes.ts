import type { FastifyInstance } from 'fastify';

/** Remembers every route as it is added, so that a path which takes other methods answers 405 with `Allow` and not 404. */
export class KnownRoutes {
  private readonly methods = new Map<string, Set<string>>();

  watch(server: FastifyInstance): void {
    server.addHook('onRoute', ({ url, method }) => {
      const known = this.methods.get(url) ?? new Set<string>();
      for (const name of [method].flat()) known.add(name);
      this.methods.set(url, known);
    });
  }

  allowed(path: string): string[] {
    const segments = path.split('/');
    const found = [...this.methods].filter(([pattern]) => matches(pattern.split('/'), segments)).flatMap(([, names]) => [...names]);
    return [...new Set(found)].sort();
  }
}

const matches = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length && pattern.every((part, index) => part === segments[index] || (part.startsWith(':') && segments[index] !== ''));
