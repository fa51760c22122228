import type { ChatNotFound } from '@domain/chats/chat.js';
import type { FileInvalid } from '@domain/chats/message-input.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { InterruptFailure } from '../commands/interrupt-chat.command.js';
import type { ReplaceTodosFailure } from '../commands/replace-todos.command.js';
import type { SendBotMessageFailure } from '../commands/send-bot-message.command.js';
import type { SendChatMessageFailure } from '../commands/send-chat-message.command.js';

const keyConflict = { status: 409, message: 'This command key was used with another input.' };
export const readChatProblems = { ChatNotFound: { status: 404, message: 'You have no chat with this ID.' } } satisfies ProblemTable<ChatNotFound>;

const noModel =
  'OpenBot has no model that could run the turn. An owner can add one with POST /v1/model-connections, or the operator start it with OPENAI_API_KEY or ANTHROPIC_API_KEY.';

export const sendChatMessageProblems = {
  ...readChatProblems,
  FileInvalid: { status: 400, message: 'A file part names none of your finished files.' },
  ChatModelInvalid: { status: 400, message: 'The chat has no model that can be used. Give its bot one.' },
  Forbidden: { status: 403, message: 'You may not give this bot work.' },
  BotNotFound: { status: 404, message: 'There is no bot with this ID that you may use.' },
  ChatConflict: { status: 409, message: 'This kind of chat takes no messages from people.' },
  ExecutionKeyConflict: keyConflict,
  ChatExecutionUnavailable: { status: 503, message: noModel },
  ChatStorageUnavailable: {
    status: 503,
    message: 'OpenBot does not reach its database. Send the same command again.',
    example: { category: 'storage_unavailable', errorId: 'err_01k0000000e00800000000000g' },
  },
} satisfies ProblemTable<SendChatMessageFailure | FileInvalid>;

/** A chat that the member has with a bot is found or made, so that it is never missing here; the table names all that its handler may answer. */
export const sendBotMessageProblems = sendChatMessageProblems satisfies ProblemTable<SendBotMessageFailure | FileInvalid>;

export const interruptProblems = { ...readChatProblems, ExecutionKeyConflict: keyConflict } satisfies ProblemTable<InterruptFailure>;

export const replaceTodosProblems = {
  ...readChatProblems,
  ChatConflict: { status: 409, message: 'The chat was changed since you read it.' },
} satisfies ProblemTable<ReplaceTodosFailure>;
