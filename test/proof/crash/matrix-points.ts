import type { Points } from './matrix-table.js';

/** Every named point that the work of the matrix passes, and at which time it is armed: for a call, once for each kind of call. */
export const workPoints: Points = [
  { point: 'commit:applied', times: [1, 2, 4, 6, 8] },
  { point: 'call:intent', times: [1, 2] },
  { point: 'call:sending', times: [1, 2, 3, 4] },
  { point: 'call:before-send', times: [1, 2, 3, 4] },
  { point: 'text:flushed', times: [1, 2, 3] },
  { point: 'call:result-known', times: [1, 2, 3, 4] },
  { point: 'phase:ended:CallPhase', times: [1, 2, 3, 4] },
  { point: 'phase:ended:DecidePhase', times: [1] },
  { point: 'phase:saved', times: [1, 3] },
  { point: 'permit:taken', times: [1] },
  { point: 'lease:registered', times: [1] },
  { point: 'lease:opened', times: [1] },
  { point: 'lease:closing', times: [1] },
  { point: 'lease:closed', times: [1] },
  { point: 'child:admitted', times: [1] },
  { point: 'child:end-before', times: [1] },
  { point: 'child:end-locked', times: [1] },
  { point: 'child:end-after', times: [1] },
  { point: 'end:before', times: [1] },
  { point: 'end:after', times: [1] },
  { point: 'feed:told', times: [1] },
  { point: 'feed:numbered', times: [1, 2] },
];

/** Those that work passes only when something is in its way. */
export const troublePoints: Points = [
  { point: 'call:reconciled', times: [1] },
  { point: 'call:not-passed', times: [1] },
  { point: 'call:late-saved', times: [1] },
  { point: 'scope:close-failed', times: [1] },
  { point: 'permit:waits', times: [1] },
  { point: 'permit:granted', times: [1] },
  { point: 'cascade:locked', times: [1] },
  { point: 'cascade:after', times: [1] },
];

/** A turn of the built program. */
export const turnPoints: Points = [
  { point: 'commit:applied', times: [1, 2, 4] },
  { point: 'call:sending', times: [1, 2] },
  { point: 'call:before-send', times: [1, 2] },
  { point: 'text:flushed', times: [1] },
  { point: 'call:result-known', times: [1, 2] },
  { point: 'phase:ended:PrepareTurn', times: [1] },
  { point: 'phase:ended:ModelStep', times: [1, 2] },
  { point: 'phase:ended:ToolStep', times: [1, 2] },
  { point: 'phase:saved', times: [1, 2, 3] },
  { point: 'end:before', times: [1] },
  { point: 'end:after', times: [1] },
];

/** Points that no cell can arm, why, and the test that stops a process there all the same. */
export const pointsElsewhere: readonly { readonly point: string; readonly because: string; readonly test: string }[] = ['timeline:changed', 'timeline:resigned'].map((point) => ({
  point,
  because: 'only a failover of the database leads there, and then every node of the lane goes there at once',
  test: 'test/recovery/engine/timeline.spec.ts',
}));
