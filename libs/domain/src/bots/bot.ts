import type { ModelSelection } from '../models/catalog.js';

/** What can be granted on a bot. Any of them implies `read`. */
export const botRights = ['read', 'delegate', 'change'] as const;
export type BotRight = (typeof botRights)[number];
/** `share` cannot be granted: who may change a bot could otherwise give themselves the rest. */
export type BotAction = BotRight | 'share';

/** Characters. */
export const botNameLimit = 100;
export const instructionsLimit = 100_000;
/** Model steps of one turn. */
export const maxStepsLimit = 200;
export const defaultMaxSteps = 50;
export const grantsLimit = 500;

export type BotNotFound = { readonly _tag: 'BotNotFound' };
/** `revision` is the one to read and send again. */
export type BotConflict = { readonly _tag: 'BotConflict'; readonly revision: number };
/** `member` is the public id that names nobody of this organization, or names one twice. */
export type GrantInvalid = { readonly _tag: 'GrantInvalid'; readonly field: string; readonly member: string };

/** A bot as a turn needs it, its instructions opened. */
export type BotForWork = {
  readonly id: string;
  readonly name: string;
  readonly instructions: string;
  readonly model: ModelSelection | null;
  readonly maxSteps: number;
};
