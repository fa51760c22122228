import { AsyncLocalStorage } from 'node:async_hooks';

export class VirtualTimer {
  constructor(
    readonly due: number,
    readonly fire: () => void,
  ) {}

  ref = (): this => this;
  unref = (): this => this;
}

/**
 * One simulated process. What runs inside sees its clock, its timers and its chance instead of the machine's. Nothing of it happens by itself: the
 * scheduler fires its timers and delivers its answers, and after its death nobody does.
 */
export class SimulatedProcess {
  now = 0;
  dead = false;
  frozen = false;
  timers: VirtualTimer[] = [];
  /** Callbacks that wait for the end of this turn of the loop. */
  immediates = 0;

  constructor(
    readonly name: string,
    readonly random: () => number,
  ) {}

  /** Starts work inside; it goes on for as long as the process lives. */
  start(work: () => Promise<void>): Promise<void> {
    return inside.run(this, work);
  }

  later(ms: number, fire: () => void): VirtualTimer {
    // Waits come from the database's clock as well; whole steps keep its real milliseconds out of the schedule.
    const step = ms > 1_000 ? 1_000 : 1;
    const timer = new VirtualTimer(this.now + Math.ceil(ms / step) * step, fire);
    if (!this.dead) this.timers.push(timer);
    return timer;
  }

  cancel(timer: VirtualTimer): void {
    this.timers = this.timers.filter((other) => other !== timer);
  }

  get nextTimer(): VirtualTimer | undefined {
    return this.timers.reduce<VirtualTimer | undefined>((first, timer) => (first && first.due <= timer.due ? first : timer), undefined);
  }

  fireNext(): void {
    const timer = this.nextTimer;
    if (!timer) return;
    this.cancel(timer);
    this.now = Math.max(this.now, timer.due);
    inside.run(this, timer.fire);
  }
}

const inside = new AsyncLocalStorage<SimulatedProcess>();
const real = { setTimeout, clearTimeout, setImmediate, performance, random: Math.random };
const timers = process.getBuiltinModule('node:timers/promises') as { setTimeout: unknown };
const realDelay = timers.setTimeout as (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) => Promise<unknown>;

export const realPause = (ms: number): Promise<void> => new Promise((resolve) => void real.setTimeout(resolve, ms));

/** Lets everything inside go on until all of it waits for the scheduler again. */
export async function settleTurn(processes: Iterable<SimulatedProcess>): Promise<void> {
  const all = [...processes];
  do await new Promise<void>((resolve) => void real.setImmediate(resolve));
  while (all.some(({ immediates }) => immediates > 0));
}

function virtualDelay(ms = 1, value?: unknown, options?: { signal?: AbortSignal }): Promise<unknown> {
  const process = inside.getStore();
  if (!process) return realDelay(ms, value, options);
  return new Promise((resolve, reject) => {
    const timer = process.later(ms, () => resolve(value));
    const aborted = (): void => {
      process.cancel(timer);
      reject(new DOMException('aborted', 'AbortError'));
    };
    if (options?.signal?.aborted) aborted();
    else options?.signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** Gives simulated processes their own time and chance; everything else keeps the machine's. Answers how to take it back. */
export function installVirtualTime(): () => void {
  const replaced: Record<string, unknown> = {
    setTimeout: (fire: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
      const process = inside.getStore();
      return process ? process.later(ms ?? 1, () => fire(...args)) : real.setTimeout(fire, ms, ...args);
    },
    clearTimeout: (timer: unknown) => (timer instanceof VirtualTimer ? inside.getStore()?.cancel(timer) : real.clearTimeout(timer as NodeJS.Timeout)),
    setImmediate: (fire: (...args: unknown[]) => void, ...args: unknown[]) => {
      const process = inside.getStore();
      if (!process) return real.setImmediate(fire, ...args);
      process.immediates += 1;
      return real.setImmediate(() => {
        process.immediates -= 1;
        if (!process.dead) fire(...args);
      });
    },
    performance: Object.create(real.performance, { now: { value: () => inside.getStore()?.now ?? real.performance.now() } }),
  };
  for (const [name, value] of Object.entries(replaced)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  Math.random = () => (inside.getStore()?.random ?? real.random)();
  timers.setTimeout = virtualDelay;
  return () => {
    for (const name of Object.keys(replaced)) Object.defineProperty(globalThis, name, { value: real[name as keyof typeof real], configurable: true, writable: true });
    Math.random = real.random;
    timers.setTimeout = realDelay;
  };
}
