import type { FunctionCallOutput, ItemContent } from '@domain/chats/items.js';
import { readArguments } from './call-arguments.js';

/** Four characters of JSON count as a token. An estimate for limits and reservations, never for a bill. */
export const estimateTokens = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4);

const missingOutput = 'No result of this call was saved. It may or may not have run.';

/**
 * Finds the output of each call by position. A call id is unique within its step only, so an output belongs to the latest step before
 * it that used the id; of equal ids in one step the outputs come in the order of the calls.
 */
function outputsByCall(items: readonly ItemContent[]): ReadonlyMap<number, FunctionCallOutput> {
  const outputs = new Map<number, FunctionCallOutput>();
  const open = new Map<string, { readonly step: number; readonly calls: number[] }>();
  let step = 0;
  for (const [at, item] of items.entries()) {
    if (item.type === 'function_call') {
      const same = open.get(item.callId);
      if (same?.step === step) same.calls.push(at);
      else open.set(item.callId, { step, calls: [at] });
    } else if (item.type === 'function_call_output') {
      const call = open.get(item.callId)?.calls.shift();
      if (call !== undefined) outputs.set(call, item);
      step += 1;
    } else if (item.type === 'message' && item.role === 'user') {
      step += 1;
    }
  }
  return outputs;
}

/** A form that every provider takes as an id, and one that no earlier call has. Depends on earlier calls only: a longer history keeps it. */
function portableId(callId: string, taken: Set<string>): string {
  const base = callId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 56) || 'call';
  let id = base;
  for (let again = 2; taken.has(id); again += 1) id = `${base}_${again}`;
  taken.add(id);
  return id;
}

/** A model may call a tool that nobody has, under a name that its provider refuses to read again. Names of real tools are portable and stay. */
const portableName = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';

/** Providers that read arguments as an object would refuse the whole request for one bad call, so what is no object is wrapped in one. */
function portableArguments(text: string): string {
  const args = readArguments(text);
  if (!args.ok) return JSON.stringify({ unreadable_arguments: text });
  // Escapes such as \u0000 pass as saved text, but an adapter parses them. The rest stays byte for byte, for the provider's cache.
  return text.trim() === '' || /\\u(0000|d[89a-f])/i.test(text) ? JSON.stringify(args.value) : text;
}

/** `modelOutput` takes the place of `output`; beside files, `output` names them for adapters that can send none. */
function readByModel(saved: FunctionCallOutput, callId: string): FunctionCallOutput {
  const { modelOutput, ...output } = saved;
  if (!modelOutput) return { ...output, callId };
  const text = modelOutput.map((part) => (part.type === 'text' ? part.text : `[File ${part.name ?? ''} (${part.mediaType})]`)).join('\n');
  const hasFiles = modelOutput.some((part) => part.type === 'file');
  return hasFiles ? { ...output, callId, output: text, modelOutput } : { ...output, callId, output: text };
}

/**
 * What a model of `provider` reads of saved items, in a form that providers accept whatever happened to the turns before: the outputs of a
 * step's calls directly follow them, one for each and in their order; call ids are unique in the whole history; names are such as providers
 * take, and arguments are JSON objects; another provider's reasoning is left out. The history of the first n items is a prefix of the
 * history of more, unless the items end in a step whose outputs are still to come.
 */
export function historyFor(provider: string, items: readonly ItemContent[]): readonly ItemContent[] {
  const outputs = outputsByCall(items);
  const ids = new Set<string>();
  const history: ItemContent[] = [];
  let owed: FunctionCallOutput[] = [];
  const settle = () => {
    history.push(...owed);
    owed = [];
  };
  for (const [at, item] of items.entries()) {
    if (item.type === 'function_call_output') {
      settle();
    } else if (item.type === 'function_call') {
      const callId = portableId(item.callId, ids);
      const saved = outputs.get(at) ?? { type: 'function_call_output', callId, status: 'failed', output: missingOutput };
      history.push({ ...item, callId, name: portableName(item.name), arguments: portableArguments(item.arguments) });
      owed.push(readByModel(saved, callId));
    } else if (item.type === 'reasoning') {
      if (item.provider === undefined || item.provider === provider) history.push(item);
    } else {
      if (item.role === 'user') settle();
      history.push(item);
    }
  }
  settle();
  return history;
}
