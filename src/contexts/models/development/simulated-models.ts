import { setTimeout as pause } from 'node:timers/promises';
import type { ItemContent } from '@domain/chats/items.js';
import { modelEntry, type ModelCatalog } from '@domain/models/catalog.js';
import { estimateTokens } from '@domain/models/tokens.js';
import type { Model, ModelFailure, ModelPart, ModelRequest, TokenUsage } from '@core/model.js';
import { answerSlowly, answerText, failAsAsked, useTools, type Plan } from './plans.js';

export const developmentProvider = 'development';
const contextWindow = 100_000;

const plans: Readonly<Record<string, (request: ModelRequest) => Plan>> = {
  'mock-text': answerText,
  'mock-slow': answerSlowly,
  'mock-tools': useTools,
  'mock-fail': failAsAsked,
};

export const developmentCatalog: ModelCatalog = {
  providers: [{ id: developmentProvider, name: 'Development scenarios (simulated)' }],
  models: Object.keys(plans).map((id) => modelEntry(developmentProvider, id, { name: `${id} (simulated)`, contextWindow })),
};

const usageOf = ({ instructions, history, tools }: ModelRequest, items: readonly ItemContent[]): TokenUsage => ({
  inputTokens: estimateTokens({ instructions, history, tools }),
  outputTokens: estimateTokens(items),
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
});

const statuses: Readonly<Record<ModelFailure['kind'], number | null>> = { limited: 429, unavailable: 503, interrupted: null, rejected: 400, unauthorized: 401, 'too-long': 400 };

const failed = (kind: ModelFailure['kind'], retryAfterMs: number | null, cause: unknown): ModelFailure => ({
  type: 'failure',
  kind,
  retryAfterMs,
  status: statuses[kind],
  requestId: null,
  usage: null,
  cause,
});

/** Calls are counted through the conversation, as a provider names none of them twice. */
function itemsOf(plan: Plan, history: readonly ItemContent[]): ItemContent[] {
  const text = plan.deltas.join('');
  const made = history.filter(({ type }) => type === 'function_call').length;
  const calls = (plan.calls ?? []).map((call, index): ItemContent => ({ type: 'function_call', callId: `call_${made + index + 1}`, ...call }));
  return [...(text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] } as const]), ...calls];
}

async function* play(plan: Plan, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
  try {
    for (const delta of plan.deltas) {
      signal.throwIfAborted();
      if (plan.delayMs) await pause(plan.delayMs, undefined, { signal });
      yield { type: 'text', delta };
    }
    signal.throwIfAborted();
  } catch (cause) {
    return yield failed('interrupted', null, cause);
  }
  if (plan.fail) return yield failed(plan.fail.kind, plan.fail.retryAfterMs, new Error('simulated'));
  const items = itemsOf(plan, request.history);
  yield { type: 'finish', items, reason: plan.calls ? 'tool-calls' : 'stop', usage: usageOf(request, items), requestId: null };
}

/** Models for trying things out without a key: deterministic, without a network, and never in production. */
export function simulatedModel(id: string): Model | null {
  const plan = Object.hasOwn(plans, id) ? plans[id] : undefined;
  if (!plan) return null;
  return { provider: developmentProvider, id, contextWindow, stream: (request, signal) => play(plan(request), request, signal) };
}
