import 'reflect-metadata';
import { loadConfig } from '@platform/config/env.js';
import { prepare } from '@platform/local/prepare.js';
import { configOrFailure, runProgram } from '@platform/local/program.js';
import { StartFailure } from '@platform/local/start-failure.js';

void runProgram(async (program) => {
  const [command, ...rest] = process.argv.slice(2);
  if (command !== 'migrate' || rest.length > 0) throw new StartFailure('The commands are: migrate (brings the database to what this version needs).');
  await prepare(configOrFailure(loadConfig()), program);
  program.progress('The database is up to date');
  return 'ended';
});
