import type { BotNotFound } from '@domain/bots/bot.js';
import type { Forbidden } from '@domain/organizations/member.js';
import type { ProblemTable } from '@platform/http/problem.js';
import type { ChangeBotFailure } from '../commands/change-bot.command.js';
import type { CreateBotFailure } from '../commands/create-bot.command.js';
import type { DeleteBotFailure } from '../commands/delete-bot.command.js';
import type { SetBotGrantsFailure } from '../commands/set-bot-grants.command.js';

const botNotFound = { status: 404, message: 'There is no bot with this ID that you may use.' };
const botConflict = { status: 409, message: 'The bot was changed since you read it.' };
const modelInvalid = { status: 400, message: 'The bot cannot use this model.' };

export const createBotProblems = {
  ChatModelInvalid: modelInvalid,
  ExecutionKeyConflict: { status: 409, message: 'This command key was used with another input.' },
} satisfies ProblemTable<CreateBotFailure>;

export const readBotProblems = { BotNotFound: botNotFound } satisfies ProblemTable<BotNotFound>;

export const changeBotProblems = {
  BotNotFound: botNotFound,
  Forbidden: { status: 403, message: 'You may not change this bot.' },
  BotConflict: botConflict,
  ChatModelInvalid: modelInvalid,
} satisfies ProblemTable<ChangeBotFailure>;

export const deleteBotProblems = {
  BotNotFound: botNotFound,
  Forbidden: { status: 403, message: 'You may not delete this bot.' },
  BotConflict: botConflict,
} satisfies ProblemTable<DeleteBotFailure>;

export const readGrantsProblems = {
  BotNotFound: botNotFound,
  Forbidden: { status: 403, message: 'Only the owner of this bot may share it.' },
} satisfies ProblemTable<BotNotFound | Forbidden>;

export const setGrantsProblems = {
  ...readGrantsProblems,
  BotConflict: botConflict,
  GrantInvalid: {
    status: 400,
    message: 'A grant names no member of the organization, or names one twice.',
    example: { field: 'grants[0].member', member: 'mem_01k0w3j9v7e8t9q0c5m2x4z6b8' },
  },
} satisfies ProblemTable<SetBotGrantsFailure>;
