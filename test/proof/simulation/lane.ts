import { Pool } from 'pg';
import { createProbeFeature } from '@test/integration/engine/probe-feature.js';
import { openTestDatabase } from '@test/support/database.js';
import { plant } from './plant.js';
import type { PlantedBug } from './planted-bugs.js';
import { Sessions, shortestWay } from './sessions.js';

/** A database of its own with the connections of one world: worlds of a lane run one after another. */
export type Lane = { readonly sessions: Sessions; readonly superuser: Pool; readonly bug: PlantedBug | null; runs: number; close(): Promise<void> };

/** With a bug in its functions, or as it is. */
export async function openLane(bug: PlantedBug | null = null, connections = 4): Promise<Lane> {
  const database = await openTestDatabase(1);
  const superuser = new Pool({ ...(await shortestWay(database.url, database.url)), max: 1 });
  await createProbeFeature(superuser);
  if (bug) await plant(superuser, bug);
  const sessions = await Sessions.open(database.workerUrl, database.url, connections);
  return {
    sessions,
    superuser,
    bug,
    runs: 0,
    close: async () => {
      await sessions.end();
      await superuser.end();
      await database.close();
    },
  };
}
