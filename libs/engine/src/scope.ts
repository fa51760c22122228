import type { RunScope } from './run-scope.js';

/** The scope of one phase. `close` closes everything in reverse order and answers the failures, so that one does not keep the others open. */
export class PhaseScope implements RunScope {
  private readonly open: { readonly name: string; readonly close: () => Promise<void> }[] = [];

  defer(name: string, close: () => Promise<void>): void {
    this.open.push({ name, close });
  }

  /** Closes what is open; what failed stays registered, to be closed again. */
  async close(): Promise<readonly { readonly name: string; readonly cause: unknown }[]> {
    const failures: { name: string; cause: unknown }[] = [];
    for (const resource of this.open.splice(0).reverse()) {
      try {
        await resource.close();
      } catch (cause) {
        failures.push({ name: resource.name, cause });
        this.open.unshift(resource);
      }
    }
    return failures;
  }
}
