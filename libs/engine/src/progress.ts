import type { CommitItem, Release, WireCall } from './commit-item.js';

type Written = { readonly cursor?: object | undefined; readonly rows?: object | undefined; readonly do?: Release; readonly human?: boolean; readonly consume?: readonly object[] };

/** What another crash would not undo. Without it, work that opens a call and then kills its process would never be found out. */
const isProgress = (change: Written, calls: readonly WireCall[]): boolean =>
  change.cursor !== undefined ||
  change.rows !== undefined ||
  calls.some(({ to }) => to === 'succeeded' || to === 'failed') ||
  (!change.human && (change.do === 'wait' || change.do === 'end' || (change.consume?.length ?? 0) > 0));

/** What a commit says of the work's time. */
export const timeOf = (change: Written, calls: readonly WireCall[], head: { readonly expired: boolean }): Pick<CommitItem, 'idle' | 'human' | 'expired'> => ({
  ...(isProgress(change, calls) ? {} : { idle: true }),
  ...(change.human && change.do === 'wait' ? { human: true } : {}),
  ...(head.expired ? { expired: true } : {}),
});
