import type { ItemContent } from '@domain/chats/items.js';
import { storableItem } from '@domain/chats/storable-item.js';
import { storableDeltas, storableText } from '@domain/chats/storable-text.js';
import { callsOf, type FinishReason, type Model, type ModelFailure, type ModelPart, type ModelRequest, type TokenUsage } from './model.js';

export type ModelDelta = { readonly type: 'text' | 'reasoning'; readonly delta: string };

/** Takes deltas as they come. The next part is read when it resolves; if it throws, the stream is closed and the error goes to the caller. */
export type DeltaSink = (delta: ModelDelta) => void | Promise<void>;

/** A finished step. Its items are storable and otherwise as the model wrote them, bad tool arguments included: those are answered by the tool step. */
export type FinishedStep = {
  readonly _tag: 'Answered' | 'CalledTools';
  readonly items: readonly ItemContent[];
  readonly usage: TokenUsage;
  readonly finishReason: FinishReason;
  readonly requestId: string | null;
};
export type StepOutcome = FinishedStep | ModelFailure;
export const isFailure = (outcome: StepOutcome): outcome is ModelFailure => 'type' in outcome;

const interrupted = (cause: unknown): ModelFailure => ({
  type: 'failure',
  kind: 'interrupted',
  retryAfterMs: null,
  status: null,
  requestId: null,
  usage: null,
  cause,
});

/** More than any model writes in one step. What is longer would be kept, and read again by every step that follows. */
const maxCharacters = 4_000_000;
const maxCalls = 128;

const tooMuch = (what: string): ModelFailure => ({ ...interrupted(new Error(`the model wrote more than ${what} in one step`)), kind: 'rejected' });

/** An adapter that throws has lost its stream. Errors of the consumer do not pass through here: they end the generator from outside. */
async function* partsOf(model: Model, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
  try {
    yield* model.stream(request, signal);
  } catch (cause) {
    yield interrupted(cause);
  }
}

/**
 * Asks the model once: one provider request, no retries, no tools run. Text and reasoning go to `onDelta` in order. A result that is known
 * is returned even when `signal` has aborted meanwhile; an aborted step without one is an `interrupted` failure.
 */
export async function runModelStep(model: Model, request: ModelRequest, signal: AbortSignal, onDelta: DeltaSink): Promise<StepOutcome> {
  if (signal.aborted) return interrupted(signal.reason);
  const streams = { text: storableDeltas(), reasoning: storableDeltas() };
  const pass = async (type: ModelDelta['type'], delta: string) => {
    if (delta !== '') await onDelta({ type, delta });
  };
  let characters = 0;
  for await (const part of partsOf(model, request, signal)) {
    if (part.type === 'failure') return part;
    if (part.type === 'finish') {
      if (callsOf(part.items).length > maxCalls) return { ...tooMuch(`${maxCalls} calls`), usage: part.usage };
      if (JSON.stringify(part.items).length > 2 * maxCharacters) return { ...tooMuch(`${2 * maxCharacters} characters`), usage: part.usage };
      await pass('reasoning', streams.reasoning.rest());
      await pass('text', streams.text.rest());
      return finished(part);
    }
    characters += part.delta.length;
    if (characters > maxCharacters) return tooMuch(`${maxCharacters} characters`);
    await pass(part.type, streams[part.type].next(part.delta));
  }
  return interrupted(new Error('The model stream ended without a finish.'));
}

function finished(part: Extract<ModelPart, { readonly type: 'finish' }>): FinishedStep {
  const items = part.items.map(storableItem);
  return {
    _tag: callsOf(items).length > 0 ? 'CalledTools' : 'Answered',
    items,
    usage: part.usage,
    finishReason: part.reason,
    requestId: part.requestId === null ? null : storableText(part.requestId),
  };
}
