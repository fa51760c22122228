import 'reflect-metadata';
import { loadConfig } from '@platform/config/env.js';
import { readLocalState, writeLocalState } from '@platform/local/local-state.js';
import { prepare } from '@platform/local/prepare.js';
import { configOrFailure, runProgram } from '@platform/local/program.js';
import { readyLine, welcome } from '@platform/local/welcome.js';

/** Loading these takes longer than anything else of a start, so it goes on while the database starts. */
const loadServer = () =>
  Promise.all([import('./app.module.js'), import('@platform/local/serve.js'), import('@contexts/sign-in/public/provision-development.command.js'), import('@nestjs/cqrs')]);

void runProgram(async (program) => {
  const config = configOrFailure(loadConfig());
  let loading: ReturnType<typeof loadServer> | undefined;
  const load = (): ReturnType<typeof loadServer> => (loading ??= loadServer());

  const prepared = await prepare(config, program, () => void load().catch(() => undefined));
  const [{ AppModule }, { serve, work }, { ProvisionDevelopmentCommand }, { CommandBus }] = await load();
  if (!prepared.roles.api) {
    const at = await work(AppModule.register(prepared), program);
    program.progress(readyLine(`The worker ${prepared.nodeName} is ready`, at));
    return 'runs';
  }
  const { app, url, privateUrl } = await serve(AppModule.register(prepared), prepared, program);
  if (!prepared.production) {
    const known = await readLocalState();
    const state = { url, ...(await app.get(CommandBus).execute(new ProvisionDevelopmentCommand(known?.token ?? null))) };
    await writeLocalState(state);
    program.progress(welcome(state, privateUrl));
  } else program.progress(readyLine(`The server ${prepared.nodeName} is ready at ${url}`, privateUrl));
  return 'runs';
});
