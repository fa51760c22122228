import type { StoredCall } from './call-log.js';
import type { Head } from './head.js';

/** What a new owner reads besides the head. */
export type LoadedWork = {
  readonly head: {
    readonly state: Head['state'];
    readonly claim: string | null;
    readonly signalCount: number;
    readonly cancelNumber: number;
    readonly commitNumber: number;
    readonly openChildren: number;
    /** After a takeover of running work: the state that its log says. */
    readonly announced: Head['state'] | null;
  } | null;
  readonly signals: readonly { readonly name: string; readonly number: number; readonly body: string | null }[];
  readonly calls: readonly StoredCall[];
};
