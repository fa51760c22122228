import { answerText, type ItemContent, type MessageContent } from '@domain/chats/items.js';
import { storableItem } from '@domain/chats/storable-item.js';
import { isReminderDue, todosAfterTurn, todosDigest, todosReminder, type Todo } from '@domain/chats/todos.js';
import { runTurn, type HostDelta, type TurnRecord, type TurnSetup } from './in-memory-turn.js';
import type { Model } from './model.js';
import { readTodosCall, todosRefused, todosResult, todosTool } from './openbot-todos.js';
import { defaultResultLimits, type ResultLimits } from './result-limit.js';
import { defaultRetries, sleep, type RetryPolicy, type Sleep } from './retry.js';
import type { Tool } from './tool.js';

export type HostOptions = {
  readonly model: Model;
  readonly instructions?: string;
  readonly tools?: readonly Tool[];
  /** Model steps of one turn; 20 when not named. */
  readonly maxSteps?: number;
  /** Gives the model `openbot_todos` and reminds it of open entries. */
  readonly todos?: boolean;
  readonly maxOutputTokens?: number;
  readonly reasoningEffort?: string;
  readonly retries?: RetryPolicy;
  readonly resultLimits?: ResultLimits;
  /** The clock and the dice of retries. */
  readonly sleep?: Sleep;
  readonly random?: () => number;
};

export type UserContent = Extract<MessageContent, { readonly role: 'user' }>['content'];
export type SendOptions = { readonly signal?: AbortSignal; readonly onDelta?: (delta: HostDelta) => void | Promise<void> };

/** `items`: what this message added to the conversation, the message first. `text`: the answer that a person reads, from the last model step. */
export type HostAnswer = TurnRecord & { readonly text: string; readonly items: readonly ItemContent[] };

export type Host = {
  /** Answers one message. Messages are answered one after the other, in the order they were sent. Rejects only when `onDelta` does. */
  readonly send: (input: string | UserContent, options?: SendOptions) => Promise<HostAnswer>;
  readonly items: () => readonly ItemContent[];
  readonly todos: () => readonly Todo[];
};

function requestOf({ instructions = '', maxOutputTokens, reasoningEffort }: HostOptions): TurnSetup['request'] {
  return {
    instructions,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
  };
}

/** A list in memory with its tool and its reminders. */
function todoList() {
  let list: readonly Todo[] = [];
  const reminded: string[] = [];
  const tool: Tool = {
    definition: todosTool,
    run: async (args) => {
      const call = readTodosCall(args);
      if (call._tag === 'Refused') return todosRefused(call.message);
      if (call._tag === 'Replace') list = call.todos;
      return todosResult(list);
    },
  };
  return {
    tool,
    list: () => list,
    closeTurn: () => (list = todosAfterTurn(list)),
    reminder: {
      isDue: () => isReminderDue(list, { reminded, hasOpenWork: false }),
      take: () => {
        reminded.push(todosDigest(list));
        return todosReminder(list);
      },
    },
  };
}

/** The answer is what the model said in its last step: everything after the last input, notice or tool result. */
function lastAnswer(items: readonly ItemContent[]): string {
  const read = items.findLastIndex((item) => item.type === 'function_call_output' || (item.type === 'message' && item.role === 'user'));
  return answerText(items.slice(read + 1));
}

/**
 * Holds one conversation without a server, in this process alone: when the process stops, the conversation and whatever was running are
 * gone. Nothing is recovered or taken over, and a tool that was running may or may not have had its effect.
 */
export function createHost(options: HostOptions): Host {
  const { model, maxSteps = 20 } = options;
  if (!Number.isInteger(maxSteps) || maxSteps < 1) throw new RangeError('maxSteps must be a positive integer.');
  const todos = todoList();
  const tools = [...(options.tools ?? []), ...(options.todos ? [todos.tool] : [])];
  const names = tools.map(({ definition }) => definition.name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new RangeError(`Two tools are named "${twice}".`);

  const items: ItemContent[] = [];
  const setup = {
    model,
    request: requestOf(options),
    tools,
    stepLimit: maxSteps,
    resultLimits: options.resultLimits ?? defaultResultLimits,
    retries: options.retries ?? defaultRetries,
    sleep: options.sleep ?? sleep,
    random: options.random ?? Math.random,
    reminder: todos.reminder,
  };

  async function answer(content: UserContent, { signal = new AbortController().signal, onDelta = () => {} }: SendOptions): Promise<HostAnswer> {
    const first = items.length;
    // A message that was taken back before its turn came was never said.
    if (!signal.aborted) items.push(storableItem({ type: 'message', role: 'user', content }));
    try {
      const record = await runTurn({ ...setup, signal, onDelta }, items);
      const added = items.slice(first);
      return { ...record, text: lastAnswer(added), items: added };
    } finally {
      todos.closeTurn();
    }
  }

  let before: Promise<unknown> = Promise.resolve();
  return {
    send(input, sendOptions = {}) {
      const content: UserContent = typeof input === 'string' ? [{ type: 'input_text', text: input }] : input;
      const turn = before.then(() => answer(content, sendOptions));
      before = turn.catch(() => {});
      return turn;
    },
    items: () => [...items],
    todos: todos.list,
  };
}
