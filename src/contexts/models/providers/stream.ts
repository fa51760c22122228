import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3FinishReason, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { callsOf, type FinishReason, type Model, type ModelPart, type ModelRequest } from '@core/model.js';
import { requestIdOf, toFailure, unfinished, type CallSoFar } from './failure.js';
import { toPrompt, toTools } from './prompt.js';
import { StepItems } from './step-items.js';
import { noUsage, readWire, unread, type WireApi, type WireState } from './wire.js';

/** One model behind the SDK. `options` are the provider's own: they depend on the request only through what it asks for. */
export type SdkModel = {
  readonly provider: string;
  readonly id: string;
  readonly contextWindow: number | null;
  readonly api: WireApi;
  readonly sdk: LanguageModelV3;
  readonly options: (request: ModelRequest) => NonNullable<LanguageModelV3CallOptions['providerOptions']>;
};

function callOptions(model: SdkModel, request: ModelRequest, signal: AbortSignal): LanguageModelV3CallOptions {
  return {
    prompt: toPrompt(request, model),
    ...(request.tools.length > 0 ? { tools: toTools(request.tools), toolChoice: { type: 'auto' as const } } : {}),
    ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    providerOptions: model.options(request),
    abortSignal: signal,
    includeRawChunks: true,
  };
}

function reasonOf(reason: LanguageModelV3FinishReason['unified'], calls: number): FinishReason {
  if (reason === 'stop' || reason === 'tool-calls') return calls > 0 ? 'tool-calls' : 'stop';
  return reason === 'error' ? 'other' : reason;
}

/** One call from its request to its end: what has come so far, so that every way of breaking off can tell it. */
class Call {
  private wire: WireState = unread;
  private requestId: string | null = null;
  private answered = false;
  private readonly items: StepItems;

  constructor(
    private readonly model: SdkModel,
    private readonly signal: AbortSignal,
  ) {
    this.items = new StepItems(model.provider);
  }

  async *run(options: LanguageModelV3CallOptions): AsyncGenerator<ModelPart> {
    try {
      const { stream, response } = await this.model.sdk.doStream(options);
      this.answered = true;
      this.requestId = requestIdOf(response?.headers);
      yield* this.read(stream.getReader());
    } catch (error) {
      yield toFailure(error, this.soFar());
    }
  }

  private async *read(reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart>): AsyncGenerator<ModelPart> {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const part = next.value;
      if (part.type === 'raw') this.wire = readWire(this.model.api, this.wire, part.rawValue);
      if (part.type === 'error') return yield toFailure(part.error, this.soFar());
      if (part.type === 'finish') return yield this.finish(part.finishReason);
      this.items.add(part);
      if (part.type === 'text-delta' && part.delta !== '') yield { type: 'text', delta: part.delta };
      if (part.type === 'reasoning-delta' && part.delta !== '') yield { type: 'reasoning', delta: part.delta };
    }
    yield unfinished(this.soFar());
  }

  private finish(reason: LanguageModelV3FinishReason): ModelPart {
    if (!this.wire.ended || this.signal.aborted) return unfinished(this.soFar());
    const items = this.items.items();
    return { type: 'finish', items, reason: reasonOf(reason.unified, callsOf(items).length), usage: this.wire.usage ?? noUsage, requestId: this.requestId };
  }

  private soFar(): CallSoFar {
    return { aborted: this.signal.aborted, answered: this.answered, requestId: this.requestId, usage: this.wire.usage };
  }
}

/** The port over the SDK: one provider request a call. A reader that stops early closes the connection, as an abort does. */
export function sdkModel(model: SdkModel): Model {
  return {
    provider: model.provider,
    id: model.id,
    contextWindow: model.contextWindow,
    async *stream(request, signal) {
      const closing = new AbortController();
      const close = () => closing.abort(signal.reason);
      if (signal.aborted) close();
      signal.addEventListener('abort', close, { once: true });
      try {
        const call = new Call(model, signal);
        yield* call.run(callOptions(model, request, closing.signal));
      } finally {
        signal.removeEventListener('abort', close);
        closing.abort();
      }
    },
  };
}
