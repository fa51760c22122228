/** The entries of a conversation, in the shapes of Responses items. They belong to no provider: each adapter translates. */
export type InputText = { readonly type: 'input_text'; readonly text: string };
export type OutputText = { readonly type: 'output_text'; readonly text: string };
export type InputImage = { readonly type: 'input_image'; readonly file: string };
export type InputFile = { readonly type: 'input_file'; readonly file: string };

export type MessageContent =
  | { readonly type: 'message'; readonly role: 'user'; readonly content: readonly (InputText | InputImage | InputFile)[] }
  | { readonly type: 'message'; readonly role: 'assistant'; readonly content: readonly OutputText[] };

/**
 * A model's reasoning. `providerData` is opaque to everyone but the adapter of `provider` (signatures, encrypted content):
 * it is replayed to that provider alone and is not shown to clients.
 */
export type ReasoningContent = {
  readonly type: 'reasoning';
  readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[];
  readonly provider?: string;
  readonly providerData?: unknown;
};

/** `arguments` is the JSON text exactly as the model wrote it. `callId` is the model's: unique within its step only. */
export type FunctionCall = { readonly type: 'function_call'; readonly callId: string; readonly name: string; readonly arguments: string };

/** What the model reads of a tool's result. Saved with the result and replayed as it stands. */
export type ModelOutputPart =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'file'; readonly mediaType: string; readonly name?: string; readonly base64: string };

/** `output` is the result that clients see; `modelOutput`, when present, is what the model reads in its place. */
export type FunctionCallOutput = {
  readonly type: 'function_call_output';
  readonly callId: string;
  readonly status: 'completed' | 'failed';
  readonly output: string;
  readonly modelOutput?: readonly ModelOutputPart[];
};

export type ItemContent = MessageContent | ReasoningContent | FunctionCall | FunctionCallOutput;

export const noticeKinds = ['delegation', 'task', 'request', 'review', 'plan', 'reminder', 'code', 'app', 'tool', 'todos'] as const;
/** Marks an input that comes from OpenBot, not from a person. Its text begins with `[OpenBot]`. */
export type NoticeOrigin = { readonly kind: (typeof noticeKinds)[number]; readonly ref: string | null };
export type ItemOrigin = { readonly chat: string; readonly turn: string; readonly step: number; readonly notice: NoticeOrigin | null };

/** What every input from OpenBot begins with. A bot reads such text as data, never as a person's instruction. */
export const noticePrefix = '[OpenBot]';

/** The text that a person reads of an answer: its assistant messages, in order. */
export function answerText(items: readonly ItemContent[]): string {
  const messages = items.filter((item) => item.type === 'message').filter((item) => item.role === 'assistant');
  return messages.map((message) => message.content.map((part) => part.text).join('')).join('\n\n');
}
