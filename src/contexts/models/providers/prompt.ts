import type { LanguageModelV3FilePart, LanguageModelV3FunctionTool, LanguageModelV3Message, LanguageModelV3Prompt } from '@ai-sdk/provider';
import type { FunctionCall, FunctionCallOutput, ItemContent, MessageContent, ReasoningContent } from '@domain/chats/items.js';
import type { ModelRequest, ToolDefinition } from '@core/model.js';
import { toolOutput } from './tool-output.js';
import type { WireApi } from './wire.js';

/** For whom a conversation is written down. Another provider's reasoning is not sent: it could not be read. */
export type Dialect = { readonly api: WireApi; readonly provider: string };

type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];
type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number];
type AssistantItem = Extract<MessageContent, { role: 'assistant' }> | ReasoningContent | FunctionCall;

const isAssistant = (item: ItemContent): item is AssistantItem =>
  item.type === 'reasoning' || item.type === 'function_call' || (item.type === 'message' && item.role === 'assistant');

/** Providers refuse a history with a text that shows nothing, and would go on refusing it for as long as the chat lives. */
const isBlank = (text: string): boolean => text.trim() === '';

/** No adapter loads files: one that came unloaded is named, so that the model can say that it did not see it. */
function userParts(content: Extract<MessageContent, { role: 'user' }>['content']): UserPart[] {
  const textOf = (part: (typeof content)[number]): string => {
    if (part.type !== 'input_text') return `[${part.type === 'input_image' ? 'image' : 'file'} ${part.file}]`;
    return isBlank(part.text) ? '[blank]' : part.text;
  };
  return content.map((part) => ({ type: 'text', text: textOf(part) }));
}

function reasoningParts(item: ReasoningContent, dialect: Dialect): AssistantPart[] {
  if (dialect.api === 'chat' || item.provider !== dialect.provider || item.providerData === undefined) return [];
  const key = dialect.api === 'messages' ? 'anthropic' : 'openai';
  const texts = item.summary.length > 0 ? item.summary.map(({ text }) => text) : [''];
  return texts.map((text) => ({ type: 'reasoning', text, providerOptions: { [key]: item.providerData as Record<string, string | null> } }));
}

/**
 * The arguments as the model wrote them, byte for byte, where they are an object. Others are put into one, because providers refuse a
 * history with anything else. Names that the SDK's parser refuses pass as the parsed value.
 */
function callInput(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return { invalid_arguments: text };
    return /proto|constructor|\\u/i.test(text) ? parsed : text;
  } catch {
    return text.trim() === '' ? {} : { invalid_arguments: text };
  }
}

function assistantParts(item: AssistantItem, dialect: Dialect): AssistantPart[] {
  if (item.type === 'reasoning') return reasoningParts(item, dialect);
  if (item.type === 'function_call') return [{ type: 'tool-call', toolCallId: item.callId, toolName: item.name, input: callInput(item.arguments) }];
  return item.content.filter(({ text }) => !isBlank(text)).map(({ text }) => ({ type: 'text', text }));
}

const lostOutput = (callId: string): FunctionCallOutput => ({ type: 'function_call_output', callId, status: 'failed', output: 'This call has no stored result.' });

/**
 * Call ids are unique within a step only, so each call takes the first output after it that nothing took before. Providers refuse a call
 * without an output and an output elsewhere than right behind its step: both are put right here, for the history as it is stored.
 */
function takeOutputs(history: readonly ItemContent[], from: number, calls: readonly FunctionCall[], taken: Set<number>): FunctionCallOutput[] {
  return calls.map((call) => {
    for (let index = from; index < history.length; index += 1) {
      const item = history[index];
      if (item?.type === 'function_call' && item.callId === call.callId) break;
      if (item?.type !== 'function_call_output' || item.callId !== call.callId || taken.has(index)) continue;
      taken.add(index);
      return item;
    }
    return lostOutput(call.callId);
  });
}

function toolMessages(calls: readonly FunctionCall[], outputs: readonly FunctionCallOutput[], api: WireApi): LanguageModelV3Message[] {
  const translated = outputs.map((output) => toolOutput(output, api));
  const files: LanguageModelV3FilePart[] = translated.flatMap(({ attached }) => attached);
  const results: LanguageModelV3Message = {
    role: 'tool',
    content: calls.map((call, index) => ({ type: 'tool-result', toolCallId: call.callId, toolName: call.name, output: translated[index]!.output })),
  };
  return files.length === 0 ? [results] : [results, { role: 'user', content: [{ type: 'text', text: '[OpenBot] Files from the tool results above:' }, ...files] }];
}

/** The same items give the same messages: what a provider has cached of a prompt stays valid while the conversation grows at its end. */
export function toPrompt(request: Pick<ModelRequest, 'instructions' | 'history'>, dialect: Dialect): LanguageModelV3Prompt {
  const { instructions, history } = request;
  const prompt: LanguageModelV3Prompt = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const taken = new Set<number>();
  for (let index = 0; index < history.length;) {
    const item = history[index]!;
    if (item.type === 'message' && item.role === 'user') prompt.push({ role: 'user', content: userParts(item.content) });
    if (!isAssistant(item)) {
      index += 1;
      continue;
    }
    let end = index;
    while (end < history.length && isAssistant(history[end]!)) end += 1;
    const step = history.slice(index, end).filter(isAssistant);
    const content = step.flatMap((part) => assistantParts(part, dialect));
    const calls = step.filter((part): part is FunctionCall => part.type === 'function_call');
    if (content.length > 0) prompt.push({ role: 'assistant', content });
    if (calls.length > 0) prompt.push(...toolMessages(calls, takeOutputs(history, end, calls, taken), dialect.api));
    index = end;
  }
  return prompt;
}

export const toTools = (tools: readonly ToolDefinition[]): LanguageModelV3FunctionTool[] =>
  tools.map(({ name, description, parameters }) => ({ type: 'function', name, description, inputSchema: parameters }));
