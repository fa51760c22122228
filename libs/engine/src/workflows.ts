import { hookMetadata, type HookOptions, type RegisteredHook, type WorkflowHook } from './hooks.js';
import { workflowMetadata, type Saga, type ServiceSaga, type WorkflowOptions } from './saga.js';

export type KnownWorkflow = WorkflowOptions & { readonly saga: Saga<object>; readonly hooks: readonly RegisteredHook[] };

/** The workflows that this build knows. Work of other workflows and versions stays untouched. */
export class Workflows {
  private readonly sagas = new Map<string, Omit<KnownWorkflow, 'hooks'>>();
  private readonly hooks: RegisteredHook[] = [];

  register(options: WorkflowOptions, saga: Saga<object>): void {
    const { name, service, reads = [] } = options;
    if (this.sagas.has(name)) throw new Error(`two sagas call themselves "${name}"`);
    if ((service ?? null) !== (name.includes('/') ? name.split('/')[0] : null)) throw new Error(`"${name}" is a service's name, or lacks one`);
    if (service !== undefined && !('mayAct' in saga)) throw new Error(`"${name}" does not say whether its service may act`);
    if (reads.length > 0 && !saga.upgrade) throw new Error(`"${name}" reads older versions and has no upgrade`);
    this.sagas.set(name, { ...options, saga });
  }

  /** A name keys stored notes, so that it belongs to one hook. */
  registerHook(options: HookOptions, hook: WorkflowHook): void {
    if (this.hooks.some(({ name }) => name === options.name)) throw new Error(`two hooks call themselves "${options.name}"`);
    this.hooks.push({ ...options, hook });
  }

  /** Registers every provider that `@Workflow`, `@ServiceWorkflow` or `@Hook` marks. */
  registerAll(providers: readonly { readonly instance: unknown; readonly metatype: unknown }[]): void {
    for (const { instance, metatype } of providers) {
      if (typeof metatype !== 'function' || instance === null || typeof instance !== 'object') continue;
      const options = Reflect.getMetadata(workflowMetadata, metatype) as WorkflowOptions | undefined;
      if (options) this.register(options, instance as Saga<object>);
      const hook = Reflect.getMetadata(hookMetadata, metatype) as HookOptions | undefined;
      if (hook) this.registerHook(hook, instance as WorkflowHook);
    }
  }

  /** Every `workflow:version` that this build can go on with. */
  get known(): string[] {
    return [...this.sagas.values()].flatMap(({ name, version, reads = [] }) => [version, ...reads].map((each) => `${name}:${each}`));
  }

  workflowOf(name: string): KnownWorkflow {
    const found = this.sagas.get(name);
    if (!found) throw new Error(`no saga is registered for "${name}"`);
    return { ...found, hooks: this.hooks.filter(({ workflow }) => workflow === name) };
  }

  sagaOf(name: string): Saga<object> {
    return this.workflowOf(name).saga;
  }
}

/** The service's side of a saga that `@ServiceWorkflow` marks. */
export const asService = ({ saga }: KnownWorkflow): ServiceSaga<object> => saga as ServiceSaga<object>;
