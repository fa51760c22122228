const { DBOS } = require('@dbos-inc/dbos-sdk');

/** DBOS as its documentation runs it in one process: a registered workflow is called, its steps are `DBOS.runStep`, and the call's promise is its end. */
exports.open = async (url) => {
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: 20, logLevel: 'error' });
  const noOp = async (steps) => {
    for (let step = 1; step <= steps; step += 1) await DBOS.runStep(async () => undefined, { name: `step ${step}` });
  };
  const starts = new Map();
  const run = DBOS.registerWorkflow(noOp, { name: 'noOp' });
  const runTimed = DBOS.registerWorkflow(
    async (name) => {
      starts.get(name)();
      await noOp(1);
    },
    { name: 'timed' },
  );
  await DBOS.launch();
  let calls = 0;
  return {
    run,
    msToStart: async () => {
      const name = String((calls += 1));
      const begin = performance.now();
      let ms = 0;
      starts.set(name, () => (ms = performance.now() - begin));
      await runTimed(name);
      starts.delete(name);
      return ms;
    },
    close: () => DBOS.shutdown(),
  };
};
