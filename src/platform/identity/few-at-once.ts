/** Work of which few run at once in this process, first come, first served; `longestQueue` wait at most. */
export class FewAtOnce {
  private readonly queue: (() => void)[] = [];
  private running = 0;

  constructor(
    private readonly most: number,
    private readonly longestQueue = Infinity,
  ) {}

  /** Whether whoever comes now would have to wait and may not. */
  get isFull(): boolean {
    return this.running >= this.most && this.queue.length >= this.longestQueue;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.most) await new Promise<void>((resolve) => this.queue.push(resolve));
    else this.running += 1;
    try {
      return await work();
    } finally {
      // The place goes to the next in the queue, or is free.
      const next = this.queue.shift();
      if (next) next();
      else this.running -= 1;
    }
  }
}
