import type { FunctionCall, ItemContent } from '@domain/chats/items.js';
import type { FinishReason, Model, ModelFailure, ModelPart, ModelRequest, TokenUsage } from '../model.js';

/** What the model does when it is asked once. */
export type ScriptedStep = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart>;

/** `requests` holds what the model was asked, in order. */
export type ScriptedModel = Model & { readonly requests: readonly ModelRequest[] };

export type StepDetails = { readonly usage?: TokenUsage; readonly requestId?: string | null; readonly reason?: FinishReason };

/** Counted by the rule of four characters, so that a script need not name them. */
function usageOf(request: ModelRequest, items: readonly ItemContent[]): TokenUsage {
  const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4);
  return { inputTokens: tokens(request), outputTokens: tokens(items), cachedInputTokens: null, cacheWriteTokens: null, reasoningTokens: null };
}

const failureOf = (kind: ModelFailure['kind'], details: Partial<ModelFailure> = {}): ModelFailure => ({
  type: 'failure',
  kind,
  retryAfterMs: null,
  status: null,
  requestId: null,
  usage: null,
  cause: new Error(`scripted failure: ${kind}`),
  ...details,
});

const message = (text: string): ItemContent => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

/** Streams parts as they are given. The ground of all other steps, and the way to say what no well-behaved model would. */
export function yieldsParts(...parts: readonly ModelPart[]): ScriptedStep {
  return async function* (_request, signal) {
    for (const part of parts) {
      if (signal.aborted) return yield failureOf('interrupted', { cause: signal.reason });
      yield part;
    }
  };
}

function finishes(items: readonly ItemContent[], deltas: readonly ModelPart[], usual: FinishReason, { usage, requestId = null, reason = usual }: StepDetails): ScriptedStep {
  return (request, signal) => yieldsParts(...deltas, { type: 'finish', items, reason, usage: usage ?? usageOf(request, items), requestId })(request, signal);
}

/** Answers with a text, streamed in the given pieces. */
export function answers(text: string | readonly string[], details: StepDetails = {}): ScriptedStep {
  const deltas = typeof text === 'string' ? [text] : text;
  return finishes(
    [message(deltas.join(''))],
    deltas.map((delta) => ({ type: 'text', delta })),
    'stop',
    details,
  );
}

export type ScriptedCall = { readonly name: string; readonly args: object | string; readonly callId?: string };

/** Calls tools. `args` as text stays as it is, however malformed. */
export function callsTools(calls: readonly ScriptedCall[], details: StepDetails & { readonly text?: string } = {}): ScriptedStep {
  const text = details.text ?? '';
  const items = calls.map(({ name, args, callId }, index): FunctionCall => ({
    type: 'function_call',
    callId: callId ?? `call_${index + 1}`,
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args),
  }));
  return text === '' ? finishes(items, [], 'tool-calls', details) : finishes([message(text), ...items], [{ type: 'text', delta: text }], 'tool-calls', details);
}

export const fails = (kind: ModelFailure['kind'], details: Partial<Omit<ModelFailure, 'type' | 'kind'>> = {}): ScriptedStep => yieldsParts(failureOf(kind, details));

/** Streams some text and then just stops, as a proxy does that drops a connection without an error. */
export const breaksOff = (text: string): ScriptedStep => yieldsParts({ type: 'text', delta: text });

/** Streams some text and then says nothing more until it is aborted. */
export function hangs(text: string): ScriptedStep {
  return async function* (_request, signal) {
    yield { type: 'text', delta: text };
    if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    yield failureOf('interrupted', { cause: signal.reason });
  };
}

/** A model that follows a script: one step for each request. A request beyond the script's end is rejected, so that a test notices it. */
export function scriptedModel(script: readonly ScriptedStep[], { provider = 'scripted', contextWindow = null as number | null } = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    provider,
    id: 'scripted',
    contextWindow,
    requests,
    stream(request, signal) {
      const step = script[requests.length] ?? fails('rejected', { cause: new Error('The script has no further step.') });
      requests.push(request);
      return step(request, signal);
    },
  };
}
