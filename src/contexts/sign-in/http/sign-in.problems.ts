import type { ProblemTable } from '@platform/http/problem.js';
import type { ChangeSettingsFailure } from '../commands/change-settings.command.js';

export const changeSettingsProblems = {
  BotNotFound: { status: 404, message: 'There is no bot with this ID that you may use.' },
  Forbidden: { status: 403, message: 'You may not give this bot work.' },
  SettingsConflict: { status: 409, message: 'The settings were changed since you read them.' },
} satisfies ProblemTable<ChangeSettingsFailure>;
