import type { TokenUsage } from './model.js';

const sum = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);

/** Adds confirmed counts. A count that one side does not know is unknown in the sum: it is never taken for zero. `null` adds nothing. */
export function addUsage(total: TokenUsage | null, step: TokenUsage | null): TokenUsage | null {
  if (total === null || step === null) return total ?? step;
  return {
    inputTokens: sum(total.inputTokens, step.inputTokens),
    outputTokens: sum(total.outputTokens, step.outputTokens),
    cachedInputTokens: sum(total.cachedInputTokens, step.cachedInputTokens),
    cacheWriteTokens: sum(total.cacheWriteTokens, step.cacheWriteTokens),
    reasoningTokens: sum(total.reasoningTokens, step.reasoningTokens),
  };
}
