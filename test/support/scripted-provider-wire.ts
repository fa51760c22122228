/** What the server answers to one request. */
export type ScriptedCall = { readonly id: string; readonly name: string; readonly arguments: string };
export type ScriptedUsage = { readonly input: number; readonly output: number; readonly cached?: number; readonly cacheWrite?: number; readonly reasoning?: number };

export type ScriptedStream = {
  readonly reasoning?: { readonly text: string; readonly opaque: string };
  /** The deltas of the answer. */
  readonly text?: readonly string[];
  /** All of one step. Arguments are sent a few characters at a time. */
  readonly calls?: readonly ScriptedCall[];
  readonly usage?: ScriptedUsage | null;
  readonly requestId?: string;
  /** `cut` destroys the socket, `no-finish` closes properly, both behind the content; `hold` leaves the stream open until the client goes. */
  readonly end?: 'finish' | 'length' | 'cut' | 'no-finish' | 'hold';
  /** An error event in place of the end. */
  readonly error?: { readonly type: string; readonly message: string };
  readonly delayMs?: number;
  /** Nothing is answered before this is settled. */
  readonly until?: Promise<unknown>;
  readonly pauseMs?: number;
  /** After each delta of the answer alone: everything else leaves at once. */
  readonly wordMs?: number;
  /** Cuts the body into pieces of so many bytes, in the middle of events and of characters. */
  readonly pieceBytes?: number;
};

export type Api = 'responses' | 'chat' | 'messages';

const pieces = (text: string, size = 3): string[] => {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) => characters.slice(index * size, (index + 1) * size).join(''));
};
type Data = { readonly type: string } & Readonly<Record<string, unknown>>;
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const named = (data: Data): string => `event: ${data.type}\n${event(data)}`;
const finishes = ({ end = 'finish', error }: ScriptedStream): boolean => !error && (end === 'finish' || end === 'length');

function responsesUsage(usage: ScriptedUsage | null | undefined) {
  if (!usage) return {};
  const input_tokens_details = { cached_tokens: usage.cached ?? 0, ...(usage.cacheWrite === undefined ? {} : { cache_write_tokens: usage.cacheWrite }) };
  const output_tokens_details = { reasoning_tokens: usage.reasoning ?? 0 };
  return { usage: { input_tokens: usage.input, input_tokens_details, output_tokens: usage.output, output_tokens_details, total_tokens: usage.input + usage.output } };
}

function responsesReasoning(reasoning: NonNullable<ScriptedStream['reasoning']>): string[] {
  const item = { type: 'reasoning', id: 'rs_1', summary: [] };
  const at = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
  return [
    named({ type: 'response.output_item.added', output_index: 0, item: { ...item, encrypted_content: 'unfinished' } }),
    named({ type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } }),
    ...pieces(reasoning.text).map((delta) => named({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    named({ type: 'response.reasoning_summary_part.done', ...at, part: { type: 'summary_text', text: reasoning.text } }),
    named({ type: 'response.output_item.done', output_index: 0, item: { ...item, encrypted_content: reasoning.opaque } }),
  ];
}

function responses(script: ScriptedStream): string[] {
  const out = [named({ type: 'response.created', response: { id: 'resp_1', created_at: 1_772_000_000, model: 'scripted' } })];
  if (script.reasoning) out.push(...responsesReasoning(script.reasoning));
  if (script.text) {
    const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [] };
    out.push(named({ type: 'response.output_item.added', output_index: 1, item }));
    out.push(...script.text.map((delta) => named({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta })));
    if (finishes(script)) out.push(named({ type: 'response.output_item.done', output_index: 1, item }));
  }
  for (const [index, call] of (script.calls ?? []).entries()) {
    const output_index = 2 + index;
    const item = { type: 'function_call', id: `fc_${index}`, call_id: call.id, name: call.name };
    out.push(named({ type: 'response.output_item.added', output_index, item: { ...item, arguments: '', status: 'in_progress' } }));
    out.push(...pieces(call.arguments).map((delta) => named({ type: 'response.function_call_arguments.delta', item_id: item.id, output_index, delta })));
    out.push(named({ type: 'response.function_call_arguments.done', item_id: item.id, output_index, arguments: call.arguments }));
    out.push(named({ type: 'response.output_item.done', output_index, item: { ...item, arguments: call.arguments, status: 'completed' } }));
  }
  if (script.error) out.push(named({ type: 'error', sequence_number: 9, error: { ...script.error, code: script.error.type } }));
  const end = { id: 'resp_1', created_at: 1_772_000_000, model: 'scripted', ...responsesUsage(script.usage) };
  if (script.end === 'length') out.push(named({ type: 'response.incomplete', response: { ...end, incomplete_details: { reason: 'max_output_tokens' } } }));
  else if (finishes(script)) out.push(named({ type: 'response.completed', response: end }));
  return out;
}

function chatUsage(usage: ScriptedUsage | null | undefined) {
  if (!usage) return [];
  const prompt_tokens_details = { cached_tokens: usage.cached ?? 0, ...(usage.cacheWrite === undefined ? {} : { cache_write_tokens: usage.cacheWrite }) };
  const completion_tokens_details = { reasoning_tokens: usage.reasoning ?? 0 };
  return [{ prompt_tokens: usage.input, prompt_tokens_details, completion_tokens: usage.output, completion_tokens_details, total_tokens: usage.input + usage.output }];
}

function chat(script: ScriptedStream): string[] {
  const head = { id: 'chatcmpl_1', object: 'chat.completion.chunk', created: 1_772_000_000, model: 'scripted' };
  const send = (delta: object, finish_reason: string | null = null) => event({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  const out = [send({ role: 'assistant', content: '' })];
  if (script.reasoning) out.push(...pieces(script.reasoning.text).map((reasoning_content) => send({ reasoning_content })));
  out.push(...(script.text ?? []).map((content) => send({ content })));
  for (const [index, call] of (script.calls ?? []).entries()) {
    out.push(send({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] }));
    out.push(...pieces(call.arguments).map((part) => send({ tool_calls: [{ index, function: { arguments: part } }] })));
  }
  if (script.error) out.push(event({ error: { ...script.error, code: script.error.type } }));
  if (!finishes(script)) return out;
  out.push(send({}, script.end === 'length' ? 'length' : script.calls?.length ? 'tool_calls' : 'stop'));
  out.push(...chatUsage(script.usage).map((usage) => event({ ...head, choices: [], usage })));
  return [...out, 'data: [DONE]\n\n'];
}

function messagesUsage(usage: ScriptedUsage) {
  const cached = usage.cached ?? 0;
  const written = usage.cacheWrite ?? 0;
  return { input_tokens: usage.input - cached - written, cache_read_input_tokens: cached, cache_creation_input_tokens: written };
}

function messages(script: ScriptedStream): string[] {
  const usage = script.usage ?? { input: 1, output: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', content: [], stop_reason: null, stop_sequence: null };
  const out = [named({ type: 'message_start', message: { ...message, usage: { ...messagesUsage(usage), output_tokens: 1 } } }), named({ type: 'ping' })];
  let index = 0;
  const block = (content_block: object, deltas: readonly object[]) => {
    out.push(named({ type: 'content_block_start', index, content_block }));
    out.push(...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })));
    out.push(named({ type: 'content_block_stop', index }));
    index += 1;
  };
  if (script.reasoning) {
    const thoughts = pieces(script.reasoning.text).map((thinking) => ({ type: 'thinking_delta', thinking }));
    block({ type: 'thinking', thinking: '', signature: '' }, [...thoughts, { type: 'signature_delta', signature: script.reasoning.opaque }]);
  }
  if (script.text)
    block(
      { type: 'text', text: '' },
      script.text.map((text) => ({ type: 'text_delta', text })),
    );
  for (const call of script.calls ?? []) {
    const deltas = ['', ...pieces(call.arguments)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    block({ type: 'tool_use', id: call.id, name: call.name, input: {} }, deltas);
  }
  if (script.error) out.push(named({ type: 'error', error: script.error }));
  if (!finishes(script)) return out;
  const stop_reason = script.end === 'length' ? 'max_tokens' : script.calls?.length ? 'tool_use' : 'end_turn';
  const details = usage.reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: usage.reasoning } };
  out.push(named({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { ...messagesUsage(usage), output_tokens: usage.output, ...details } }));
  return [...out, named({ type: 'message_stop' })];
}

/** The events of an answer as each interface sends them. */
export const wireEvents: Readonly<Record<Api, (script: ScriptedStream) => string[]>> = { responses, chat, messages };
