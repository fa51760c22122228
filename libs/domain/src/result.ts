/** An expected outcome is returned, never thrown; the failure's `_tag` is its public code. */
export type Result<A, F> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly failure: F };
export const ok = <A>(value: A): Result<A, never> => ({ ok: true, value });
export const fail = <F>(failure: F): Result<never, F> => ({ ok: false, failure });
