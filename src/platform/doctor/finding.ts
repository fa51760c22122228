/** What one check found. Ids and numbers only. */
export type Finding = {
  readonly name: string;
  /** `unseen`: the question got no answer; `unasked`: this place cannot ask it. */
  readonly verdict: 'well' | 'act' | 'unseen' | 'unasked';
  readonly count: number;
  /** The look ended at its limit: there may be more than `count`. */
  readonly more: boolean;
  /** At most five. */
  readonly examples: readonly string[];
  /** Figures beside the count; or why there is no answer. */
  readonly detail: string | null;
  /** What to do when the count is not zero. */
  readonly advice: string;
};

export type Report = { readonly at: string; readonly findings: readonly Finding[] };

/** 0: all is well; 1: something is to be done; 2: something could not be looked at, and nothing else was found. */
export function exitCodeOf({ findings }: Report): 0 | 1 | 2 {
  if (findings.some(({ verdict }) => verdict === 'act')) return 1;
  return findings.some(({ verdict }) => verdict === 'unseen') ? 2 : 0;
}
