import { currentTrace } from '@engine/trace.js';

/** Which hosts are told the trace of the call that goes to them: those that the operator names, and no other. */
export const traceTo =
  (hosts: readonly string[]) =>
  (host: string): string | null =>
    hosts.includes(host) ? currentTrace() : null;
