import { workflowMetadata, type Saga, type WorkflowOptions } from './saga.js';

/** The workflows that this build knows. Work of other workflows and versions stays untouched. */
export class Workflows {
  private readonly sagas = new Map<string, { readonly saga: Saga<object>; readonly version: number }>();

  register(options: WorkflowOptions, saga: Saga<object>): void {
    if (this.sagas.has(options.name)) throw new Error(`two sagas call themselves "${options.name}"`);
    this.sagas.set(options.name, { saga, version: options.version });
  }

  /** Registers every provider that `@Workflow` marks. */
  registerAll(providers: readonly { readonly instance: unknown; readonly metatype: unknown }[]): void {
    for (const { instance, metatype } of providers) {
      if (typeof metatype !== 'function' || instance === null || typeof instance !== 'object') continue;
      const options = Reflect.getMetadata(workflowMetadata, metatype) as WorkflowOptions | undefined;
      if (options) this.register(options, instance as Saga<object>);
    }
  }

  get known(): string[] {
    return [...this.sagas].map(([name, { version }]) => `${name}:${version}`);
  }

  sagaOf(name: string): Saga<object> {
    const found = this.sagas.get(name);
    if (!found) throw new Error(`no saga is registered for "${name}"`);
    return found.saga;
  }
}
