import type { TokenUsage } from '@core/model.js';

/** The interfaces that the adapters speak: OpenAI Responses, chat completions, Anthropic Messages. */
export type WireApi = 'responses' | 'chat' | 'messages';

/** What the raw events have confirmed so far. Kept beside the translated stream, because a cut stream has no end that would tell it. */
export type WireState = { readonly ended: boolean; readonly usage: TokenUsage | null };
export const unread: WireState = { ended: false, usage: null };

export const noUsage: TokenUsage = { inputTokens: null, outputTokens: null, cachedInputTokens: null, cacheWriteTokens: null, reasoningTokens: null };

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
/** What is no count was not confirmed: no server's arithmetic may keep an answer from being stored. */
const count = (value: unknown): number | null => (Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null);

function responsesUsage(value: unknown): TokenUsage | null {
  if (value == null) return null;
  const usage = fieldsOf(value);
  const input = fieldsOf(usage['input_tokens_details']);
  return {
    inputTokens: count(usage['input_tokens']),
    outputTokens: count(usage['output_tokens']),
    cachedInputTokens: count(input['cached_tokens']),
    cacheWriteTokens: count(input['cache_write_tokens']),
    reasoningTokens: count(fieldsOf(usage['output_tokens_details'])['reasoning_tokens']),
  };
}

function chatUsage(value: unknown): TokenUsage | null {
  if (value == null) return null;
  const usage = fieldsOf(value);
  const input = fieldsOf(usage['prompt_tokens_details']);
  return {
    inputTokens: count(usage['prompt_tokens']),
    outputTokens: count(usage['completion_tokens']),
    cachedInputTokens: count(input['cached_tokens']),
    cacheWriteTokens: count(input['cache_write_tokens']),
    reasoningTokens: count(fieldsOf(usage['completion_tokens_details'])['reasoning_tokens']),
  };
}

/** Anthropic counts cached and written tokens beside the input; everywhere else they are parts of it. Its first event knows the input alone. */
function messagesUsage(value: unknown, before: TokenUsage, final: boolean): TokenUsage {
  const usage = fieldsOf(value);
  const fresh = count(usage['input_tokens']);
  const cached = count(usage['cache_read_input_tokens']);
  const written = count(usage['cache_creation_input_tokens']);
  return {
    inputTokens: fresh === null ? before.inputTokens : fresh + (cached ?? 0) + (written ?? 0),
    outputTokens: final ? count(usage['output_tokens']) : before.outputTokens,
    cachedInputTokens: cached ?? before.cachedInputTokens,
    cacheWriteTokens: written ?? before.cacheWriteTokens,
    reasoningTokens: count(fieldsOf(usage['output_tokens_details'])['thinking_tokens']) ?? before.reasoningTokens,
  };
}

function readResponses(state: WireState, event: Fields): WireState {
  const type = event['type'];
  if (type !== 'response.completed' && type !== 'response.incomplete' && type !== 'response.failed') return state;
  return { ended: state.ended || type !== 'response.failed', usage: responsesUsage(fieldsOf(event['response'])['usage']) ?? state.usage };
}

function readChat(state: WireState, event: Fields): WireState {
  const choices: unknown = event['choices'];
  const ended = Array.isArray(choices) && choices.some((choice) => fieldsOf(choice)['finish_reason'] != null);
  return { ended: state.ended || ended, usage: chatUsage(event['usage']) ?? state.usage };
}

function readMessages(state: WireState, event: Fields): WireState {
  const begins = event['type'] === 'message_start';
  if (!begins && event['type'] !== 'message_delta') return state;
  const value = begins ? fieldsOf(event['message'])['usage'] : event['usage'];
  const ended = state.ended || fieldsOf(event['delta'])['stop_reason'] != null;
  return { ended, usage: value == null ? state.usage : messagesUsage(value, state.usage ?? noUsage, !begins) };
}

const readers = { responses: readResponses, chat: readChat, messages: readMessages };

/** Adds one raw event. `ended` is set by the provider's own end alone: a connection that closes proves nothing. */
export const readWire = (api: WireApi, state: WireState, event: unknown): WireState => readers[api](state, fieldsOf(event));
