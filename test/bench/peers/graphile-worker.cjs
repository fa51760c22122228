/**
 * graphile-worker with a job that does nothing. Its event says that a job is over just before the row is deleted, so that it is measured a little
 * better than the others. A job is one step: it has no row for ten.
 */
exports.open = async (connectionString) => {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
  const logger = new Logger(() => () => undefined);
  const ends = new Map();
  const starts = new Map();
  const runner = await run({
    noHandleSignals: true,
    preset: { worker: { connectionString, concurrentJobs: 200, maxPoolSize: 20, logger } },
    taskList: { noOp: async ({ name }) => starts.get(name)?.() },
  });
  runner.events.on('job:complete', ({ job }) => ends.get(job.payload.name)?.());
  const utils = await makeWorkerUtils({ preset: { worker: { connectionString, maxPoolSize: 10, logger } } });

  let jobs = 0;
  const runJob = async (name) => {
    const ended = new Promise((resolve) => ends.set(name, resolve));
    await utils.addJob('noOp', { name });
    await ended;
    ends.delete(name);
  };
  return {
    run: () => runJob(String((jobs += 1))),
    msToStart: async () => {
      const name = String((jobs += 1));
      const begin = performance.now();
      let ms = 0;
      starts.set(name, () => (ms = performance.now() - begin));
      await runJob(name);
      starts.delete(name);
      return ms;
    },
    close: async () => {
      await utils.release();
      await runner.stop();
    },
  };
};
