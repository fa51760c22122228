import 'reflect-metadata';
import { Config } from '@platform/config/config.js';
import { loadConfig } from '@platform/config/env.js';
import { prepare } from '@platform/local/prepare.js';
import { configOrFailure, runProgram } from '@platform/local/program.js';
import { readyLine } from '@platform/local/welcome.js';

void runProgram(async (program) => {
  const config = new Config({ ...configOrFailure(loadConfig()), roles: { api: false, worker: true } });
  const prepared = await prepare(config, program);
  const [{ AppModule }, { work }] = await Promise.all([import('./app.module.js'), import('@platform/local/serve.js')]);
  const privateUrl = await work(AppModule.register(prepared), program);
  program.progress(readyLine(`The worker ${prepared.nodeName} is ready`, privateUrl));
  return 'runs';
});
