import type { EndState } from '../executions/state.js';

/** What a project's feed tells. `execution.started`: work was accepted; it may still wait behind other work. */
export const productEventTypes = [
  'execution.started',
  'execution.completed',
  'execution.failed',
  'execution.cancelled',
  'execution.interrupted',
  'execution.outcome_unknown',
  'bot.created',
  'bot.deleted',
  'chat.created',
] as const satisfies readonly (`execution.${'started' | 'outcome_unknown' | EndState}` | `bot.${string}` | `chat.${string}`)[];
export type ProductEventType = (typeof productEventTypes)[number];

export type AggregateKind = 'execution' | 'bot' | 'chat';
/** What an event of this type is about. */
export const aggregateKindOf = (type: ProductEventType): AggregateKind => type.slice(0, type.indexOf('.')) as AggregateKind;
