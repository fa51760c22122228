import type { ModelOutputPart } from '@domain/chats/items.js';
import type { ToolDefinition } from './model.js';

/** The arguments of a call, parsed, storable and fitting the tool's schema. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** Which call it is. `callId` is the model's and names a call only together with `step`. */
export type ToolContext = { readonly callId: string; readonly step: number; readonly signal: AbortSignal };

/** `failed` is an outcome that the model is meant to read and act on. What nobody expected is thrown instead. */
export type ToolResult = { readonly status: 'completed' | 'failed'; readonly output: string; readonly modelOutput?: readonly ModelOutputPart[] };

/**
 * A tool that runs inside its turn. A host may give its tools more context than `ToolContext`. `run` ends soon after `signal` aborts:
 * nobody reports a turn as over while one of its tools still works.
 */
export type Tool<Context extends ToolContext = ToolContext> = {
  readonly definition: ToolDefinition;
  readonly run: (args: ToolArguments, context: Context) => Promise<ToolResult>;
};

export const completed = (output: string): ToolResult => ({ status: 'completed', output });
export const failed = (output: string): ToolResult => ({ status: 'failed', output });
