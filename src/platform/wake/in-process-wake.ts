import { Logger } from '@nestjs/common';
import { WakeChannel, type Hint } from '@engine/wake-channel.js';

/** Hints within this process alone: other nodes find work and events by polling. */
export class InProcessWake extends WakeChannel {
  private readonly logger = new Logger(InProcessWake.name);
  private readonly listeners = new Set<(hint: Hint) => void>();

  publish(executionIds: readonly string[]): void {
    if (executionIds.length > 0) this.tell(executionIds);
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    // An own function for each subscription: the same listener twice is two, and each is stopped alone.
    const own = (hint: Hint): void => listener(hint);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  /** A listener that throws keeps neither the publisher nor the others from going on. */
  tell(hint: Hint): void {
    for (const listener of [...this.listeners]) {
      try {
        listener(hint);
      } catch (error) {
        this.logger.error({ type: error instanceof Error ? error.name : typeof error });
      }
    }
  }
}
