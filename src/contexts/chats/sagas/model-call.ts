import type { BotForWork } from '@domain/bots/bot.js';
import { estimateTokens } from '@domain/models/tokens.js';
import { historyFor } from '@core/history.js';
import type { Model, ModelFailure, ModelRequest, TokenUsage } from '@core/model.js';
import { isFailure, runModelStep, type StepOutcome } from '@core/model-step.js';
import { todosTool } from '@core/openbot-todos.js';
import type { CallOutcome, CallUsage } from '@engine/calls.js';
import type { PhaseRun } from '@engine/phase.js';
import type { Conversation } from './conversation.js';
import type { TurnCursor } from './turn-cursor.js';

const source = 'turn';
const nothingConfirmed: TokenUsage = { inputTokens: null, outputTokens: null, cachedInputTokens: null, cacheWriteTokens: null, reasoningTokens: null };

/** Usage that nobody confirmed is unknown and keeps its estimate: it is never zero. */
function usageOf(model: Model, estimatedInputTokens: number, confirmed: TokenUsage | null): CallUsage {
  const isKnown = confirmed !== null && (confirmed.inputTokens !== null || confirmed.outputTokens !== null);
  return { provider: model.provider, model: model.id, source, status: isKnown ? 'confirmed' : 'unknown', ...(isKnown ? confirmed : nothingConfirmed), estimatedInputTokens };
}

/** The saved form of a result holds no cause: that is for the error record alone, and may be no JSON. */
const savedForm = (outcome: StepOutcome): StepOutcome => (isFailure(outcome) ? { ...outcome, cause: null } : outcome);

export const requestOf = (model: Model, bot: BotForWork, selection: { readonly reasoningEffort?: string } | null, talk: Conversation): ModelRequest => ({
  instructions: bot.instructions,
  history: historyFor(
    model.provider,
    talk.entries.map(({ content }) => content),
  ),
  tools: [todosTool],
  ...(selection?.reasoningEffort === undefined ? {} : { reasoningEffort: selection.reasoningEffort }),
});

/** Owners die and leave; a step that takes each of them with it is not asked, and paid, for ever. */
const mostAttempts = 20;
const lostTooOften: ModelFailure = {
  type: 'failure',
  kind: 'interrupted',
  retryAfterMs: null,
  status: null,
  requestId: null,
  usage: null,
  cause: new Error(`${mostAttempts} attempts of a model step were lost`),
};

/** One attempt of the model step at hand, or the saved result of an earlier one. Its text streams into the log under the attempt's number. */
export function askModel(run: PhaseRun<TurnCursor>, model: Model, request: ModelRequest, step: number): Promise<CallOutcome<StepOutcome>> {
  const estimate = estimateTokens(request);
  return run.call<StepOutcome>(
    {
      step,
      name: 'model',
      kind: 'model',
      safety: 'repeatable',
      input: { provider: model.provider, model: model.id },
      usage: (outcome) => usageOf(model, estimate, outcome.usage),
      lostUsage: usageOf(model, estimate, null),
      failed: isFailure,
      keep: savedForm,
      consumed: run.execution.cursor.consumed,
    },
    async ({ attempt, signal }) => {
      if (attempt > mostAttempts) return lostTooOften;
      run.emit({ _tag: 'ModelAttempt', step, attempt, provider: model.provider, model: model.id });
      const outcome = await runModelStep(model, request, signal, ({ type, delta }) => run.emit({ _tag: type === 'text' ? 'Text' : 'Reasoning', step, attempt, delta }));
      // Cut by us and not by the provider: the attempt has no result, and the next owner or the end says what becomes of it.
      if (isFailure(outcome) && signal.aborted) throw new Error('the model step was stopped', { cause: signal.reason });
      return outcome;
    },
  );
}

const categories: Readonly<Record<ModelFailure['kind'], string>> = {
  limited: 'model_limited',
  unavailable: 'model_unavailable',
  interrupted: 'model_interrupted',
  rejected: 'model_rejected',
  unauthorized: 'model_unauthorized',
  'too-long': 'model_context_exceeded',
};
export const categoryOfModel = ({ kind }: ModelFailure): string => categories[kind];
