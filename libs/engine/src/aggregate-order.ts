import type { Aggregate } from './saga.js';

/** As `lock_aggregates` orders them, in every locale. */
export const byFeatureAndId = (a: Aggregate, b: Aggregate): number => compare(a.feature, b.feature) || compare(a.id, b.id);
const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
