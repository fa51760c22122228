import { v7 as uuidv7 } from 'uuid';
import { Admissions } from '@engine/admissions.js';
import type { Contestant } from './contestant.js';
import { EndObserver } from './end-observer.js';
import { NoOpSaga, NoOpStepHandler, NoOpWatch, type NoOpCursor } from './no-op-work.js';
import { createNode, poolOf, prepare, settings } from './openbot-node.js';

/** API and worker in one process. */
export async function open(adminUrl: string): Promise<Contestant> {
  const logins = await prepare(adminUrl);
  const node = await createNode(logins, NoOpSaga, [NoOpWatch, NoOpStepHandler], settings().nodeName);
  const { api, wake, nest, engine } = node;
  const watch = nest.get(NoOpWatch);
  await engine.start();

  const context = { organizationId: uuidv7(), projectId: uuidv7() };
  const observer = await EndObserver.open(logins.databaseApiUrl, context, wake, watch);
  const admissions = new Admissions(poolOf(api));
  const admit = async (id: string, cursor: NoOpCursor): Promise<void> => {
    await admissions.admit({ id, context, workflow: 'no-op', version: 1, cursor, subjectId: null, identityId: null, memberId: null, ready: true });
    wake.publish([id]);
  };

  return {
    run: async (steps) => {
      const id = uuidv7();
      const ended = observer.ended(id);
      await admit(id, { steps, done: 0 });
      await ended;
    },
    msToStart: async () => {
      const id = uuidv7();
      const begin = performance.now();
      const started = new Promise<number>((resolve) => watch.started.set(id, () => resolve(performance.now() - begin)));
      const ended = observer.ended(id);
      await admit(id, { steps: 1, done: 0 });
      const ms = await started;
      watch.started.delete(id);
      await ended;
      return ms;
    },
    close: async () => {
      await observer.close();
      await node.close();
    },
  };
}
