import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { ConnectionApi, ConnectionKind, ConnectionModel } from '@domain/models/connection.js';
import type { Model, ModelRequest } from '@core/model.js';
import type { Egress } from '@platform/egress/egress.js';
import { quotingNoKey } from './key-redaction.js';
import { sdkModel } from './stream.js';

/** Where a model is and how it is spoken to. `provider` is the id that selections name, and the owner of replayed reasoning. */
export type Endpoint = {
  readonly provider: string;
  readonly kind: ConnectionKind;
  readonly api: ConnectionApi | null;
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
};

/** Always passed on: the SDK would read an address from the environment where it is given none. */
const vendorUrls = { openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com/v1' };

/** Anthropic's own clients take the address without its version, the SDK takes it with. Both spellings work. */
const anthropicUrl = (url: string): string => (new URL(url).pathname === '/' ? `${url.replace(/\/$/, '')}/v1` : url.replace(/\/$/, ''));

type Effort = 'low' | 'medium' | 'high';
const effortOf = ({ reasoningEffort }: ModelRequest): Effort | undefined => reasoningEffort as Effort | undefined;

function openaiModel(endpoint: Endpoint, model: ConnectionModel, egress: Egress): Model {
  const openai = createOpenAI({ apiKey: endpoint.apiKey ?? '', baseURL: endpoint.baseUrl ?? vendorUrls.openai, fetch: sdkFetch(egress) });
  const about = { provider: endpoint.provider, id: model.id, contextWindow: model.contextWindow };
  if (endpoint.api === 'chat') {
    const options = (request: ModelRequest) => ({ openai: { reasoningEffort: effortOf(request) ?? null } });
    return sdkModel({ ...about, api: 'chat', sdk: openai.chat(model.id), options: (request) => (request.reasoningEffort === undefined ? {} : options(request)) });
  }
  return sdkModel({
    ...about,
    api: 'responses',
    sdk: openai.responses(model.id),
    // Nothing is kept there: the conversation is ours, and its reasoning comes back encrypted.
    options: (request) => ({
      openai: {
        store: false,
        ...(model.reasoningEfforts.length > 0 ? { forceReasoning: true } : {}),
        ...(request.reasoningEffort === undefined ? {} : { reasoningEffort: request.reasoningEffort, reasoningSummary: 'auto' }),
      },
    }),
  });
}

function anthropicModel(endpoint: Endpoint, model: ConnectionModel, egress: Egress): Model {
  const anthropic = createAnthropic({ apiKey: endpoint.apiKey ?? '', baseURL: anthropicUrl(endpoint.baseUrl ?? vendorUrls.anthropic), fetch: sdkFetch(egress) });
  return sdkModel({
    provider: endpoint.provider,
    id: model.id,
    contextWindow: model.contextWindow,
    api: 'messages',
    sdk: anthropic.messages(model.id),
    options: (request) => ({
      anthropic: {
        // For the request as a whole: a mark on the last message would move with it and change the bytes before.
        cacheControl: { type: 'ephemeral' },
        toolStreaming: false,
        ...(request.reasoningEffort === undefined ? {} : { effort: request.reasoningEffort, thinking: { type: 'adaptive', display: 'summarized' } }),
      },
    }),
  });
}

function compatibleModel(endpoint: Endpoint, model: ConnectionModel, egress: Egress): Model {
  const compatible = createOpenAICompatible({
    name: 'compatible',
    baseURL: endpoint.baseUrl ?? vendorUrls.openai,
    includeUsage: true,
    fetch: sdkFetch(egress),
    ...(endpoint.apiKey === null ? {} : { apiKey: endpoint.apiKey }),
  });
  return sdkModel({
    provider: endpoint.provider,
    id: model.id,
    contextWindow: model.contextWindow,
    api: 'chat',
    sdk: compatible.chatModel(model.id),
    options: (request) => (request.reasoningEffort === undefined ? {} : { compatible: { reasoningEffort: request.reasoningEffort } }),
  });
}

/** The guard's fetch is undici's, whose types differ in name alone. */
const sdkFetch = (egress: Egress): typeof globalThis.fetch => egress.fetch as unknown as typeof globalThis.fetch;

function adapterOf(endpoint: Endpoint, model: ConnectionModel, egress: Egress): Model {
  if (endpoint.kind === 'anthropic') return anthropicModel(endpoint, model, egress);
  if (endpoint.kind === 'openai-compatible' && endpoint.api !== 'responses') return compatibleModel(endpoint, model, egress);
  return openaiModel(endpoint, model, egress);
}

/** A model ready to be called. Nothing is sent before the first call. */
export const connectModel = (endpoint: Endpoint, model: ConnectionModel, egress: Egress): Model => quotingNoKey(adapterOf(endpoint, model, egress), endpoint.apiKey);
