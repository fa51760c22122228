import type { ItemContent, ItemOrigin } from '../chats/items.js';
import type { ExecutionState } from './state.js';

/** The bodies of an execution's ordered log, as clients read them. Ids in bodies are TypeIDs. */
export type ExecutionEventBody =
  | { readonly _tag: 'State'; readonly state: ExecutionState }
  | { readonly _tag: 'Input'; readonly input: string; readonly turn: string }
  | { readonly _tag: 'InputMoved'; readonly input: string; readonly turn: string; readonly executionId: string }
  | { readonly _tag: 'ModelAttempt'; readonly step: number; readonly attempt: number; readonly provider: string; readonly model: string }
  | { readonly _tag: 'Text'; readonly step: number; readonly attempt: number; readonly delta: string }
  | { readonly _tag: 'Reasoning'; readonly step: number; readonly attempt: number; readonly delta: string }
  | { readonly _tag: 'ToolCall'; readonly step: number; readonly callId: string; readonly name: string; readonly executionId: string }
  | { readonly _tag: 'ToolResult'; readonly step: number; readonly callId: string; readonly status: 'completed' | 'failed' }
  | { readonly _tag: 'Item'; readonly item: { readonly id: string; readonly seq: number; readonly content: ItemContent; readonly origin: ItemOrigin } }
  | {
      readonly _tag: 'Usage';
      readonly step: number;
      readonly attempt: number;
      readonly status: 'confirmed' | 'estimated' | 'unknown';
      readonly inputTokens: number | null;
      readonly outputTokens: number | null;
    }
  | { readonly _tag: 'Result'; readonly turn?: string; readonly record?: object }
  | { readonly _tag: 'Failure'; readonly category: string; readonly errorId: string };
