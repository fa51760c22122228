import { setTimeout as delay } from 'node:timers/promises';
import type { Gate } from './gate.js';
import type { PhaseScope } from './scope.js';

const firstPauseMs = 100;
const lastPauseMs = 5_000;

/** How long a fiber that has to go waits for its resources: what does not close by then keeps no process from ending. */
export const closePatienceMs = { shutdown: 2_000, lost: 1_000 } as const;

/** Work goes, and resources of its phase could not be closed: the phase has not ended. */
export class ResourcesLeftOpen extends Error {
  constructor() {
    super('resources of a phase could not be closed before its owner had to go');
  }
}

/**
 * Closes a scope, and tries again what failed until everything is closed. Throws `ResourcesLeftOpen` when its owner has to go before; the process
 * goes on closing all the same, for as long as it lives.
 */
export async function closeResources(scope: PhaseScope, ownerGoes: Gate, processLeaves: AbortSignal): Promise<void> {
  if (scope.isEmpty) return void (await scope.close());
  const closed = untilClosed(scope, processLeaves);
  let give = (): void => undefined;
  const gone = new Promise<false>((resolve) => (give = () => resolve(false)));
  if (ownerGoes.isClosed) give();
  else ownerGoes.signal.addEventListener('abort', give, { once: true });
  try {
    if (!(await Promise.race([closed, gone]))) throw new ResourcesLeftOpen();
  } finally {
    // The gate is the owner's, and it may have thousands of phases.
    if (!ownerGoes.isClosed) ownerGoes.signal.removeEventListener('abort', give);
  }
}

async function untilClosed(scope: PhaseScope, processLeaves: AbortSignal): Promise<boolean> {
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, lastPauseMs)) {
    if ((await scope.close()).every(({ failure }) => failure === null)) return true;
    await delay(pause, undefined, { signal: processLeaves, ref: false }).catch(() => undefined);
    if (processLeaves.aborted) return false;
  }
}
