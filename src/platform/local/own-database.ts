import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';
import { alone, databaseFolder, readLocalState, stateFolder } from './local-state.js';
import { until } from './postmaster.js';
import type { Program } from './program.js';
import { StartFailure } from './start-failure.js';

/** Held on the embedded database for as long as its process lives, and freed by the server when that process is killed. */
const folderLock = 7_305_482_002;

/** The connection that holds the folder: where it ends, the server has ended or let go of us. */
async function holdFolder(url: string, folder: string): Promise<Client> {
  const client = new Client({ connectionString: url, keepAlive: true, application_name: 'openbot folder' });
  client.on('error', () => undefined);
  await client.connect();
  const isHeld = async (): Promise<boolean> => (await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [folderLock])).rows[0]?.held ?? false;
  // The server may need a moment to see that a killed holder is gone.
  if (await until(isHeld, 1_000)) return client;
  await client.end();
  const running = await readLocalState();
  throw new StartFailure(`OpenBot already runs in ${folder}${running ? ` at ${running.url}` : ''}: use that one, stop it first, or set DATABASE_URL to run a second.`);
}

/** What a killed server leaves behind may keep the next one out for some seconds. */
const tries = 10;

/** The embedded PostgreSQL of this folder, for this process alone. One that ends without us is started again; it is stopped last. */
export class OwnDatabase {
  private readonly folder = stateFolder();
  private server: EmbeddedPostgres | null = null;
  private holder: Client | null = null;
  private reviving: Promise<void> = Promise.resolve();
  private leaving = false;

  constructor(
    private readonly program: Program,
    private readonly busy: () => void,
  ) {}

  async start(): Promise<string> {
    const { url, adopted } = await this.begin();
    this.program.onStop(() => this.stop());
    if (adopted) this.program.progress('Going on with the PostgreSQL that the last run left behind');
    return url;
  }

  private begin(): Promise<EmbeddedPostgres> {
    const { folder, program, busy } = this;
    return alone(folder, async () => {
      const server = await startEmbeddedPostgres({ folder: databaseFolder(), progress: (line) => program.progress(line), busy });
      // Another process's server that we merely found is not ours to stop.
      const holder = await holdFolder(server.url, folder);
      holder.once('end', () => {
        if (!this.leaving) this.reviving = this.revive(server.url).catch((error: unknown) => this.program.fail(error));
      });
      this.holder = holder;
      this.server = server;
      return server;
    });
  }

  /** At the same address: the pools of this process know no other. */
  private async revive(url: string): Promise<void> {
    this.program.progress('The embedded PostgreSQL broke off: bringing it back');
    const again = await this.beginPatiently();
    if (again && again.url !== url) throw new StartFailure('The embedded PostgreSQL ended, and its port was taken meanwhile: start again.');
    if (again) this.program.progress('PostgreSQL runs again');
  }

  private async beginPatiently(): Promise<EmbeddedPostgres | null> {
    for (let left = tries; !this.leaving; left -= 1) {
      try {
        return await this.begin();
      } catch (error) {
        if (left <= 1) throw error;
        await pause(1_000);
      }
    }
    return null;
  }

  private async stop(): Promise<void> {
    this.leaving = true;
    await this.reviving;
    await this.holder?.end();
    await this.server?.stop();
  }
}
