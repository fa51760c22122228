import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '@platform/database/migrate.js';
import { startEmbeddedPostgres } from '@platform/local/embedded-postgres.js';
import { isAlive, livePostmaster, stopPostmaster } from '@platform/local/postmaster.js';
import { withDatabase, type TestServer } from './test-server.js';

const prefix = 'openbot-test-';
/** Not a secret: it makes the passwords of the test server's logins. */
const encryptionKeys = [{ id: 'test', key: Buffer.alloc(32, 7) }];
/** Durability is off, and with it only what a crash of the machine could show: no test crashes the machine, and every commit keeps its order and meaning. */
const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '400', shared_buffers: '256MB', autovacuum_naptime: '10s' };

declare global {
  var stopTestServer: (() => Promise<void>) | undefined;
}

/** A run that was interrupted could not stop its server: its folder carries the run's process id. */
async function removeAbandoned(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(prefix) && !isAlive(Number(name.split('-')[2])));
  for (const name of names) {
    const folder = join(tmpdir(), name);
    if ((await stat(folder).catch(() => null))?.uid !== process.getuid?.()) continue;
    const orphan = await livePostmaster(join(folder, 'data'));
    if (orphan) await stopPostmaster(orphan.pid, 2_000);
    await rm(folder, { recursive: true, force: true });
  }
}

async function administer(adminUrl: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** One server and one migrated template for the whole run. `TEST_DATABASE_URL` names a server to use instead: a superuser's URL. */
export async function startTestServer(): Promise<void> {
  const given = process.env['TEST_DATABASE_URL'];
  if (!given) await removeAbandoned();
  const folder = given ? null : await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`));
  // Beside the port a socket, for those who ask so much that the way counts.
  const server = folder ? await startEmbeddedPostgres({ folder, settings: { ...settings, unix_socket_directories: join(folder, 'data') } }) : null;
  const adminUrl = given ?? server?.url ?? '';
  const template = `openbot_template_${process.pid}`;
  globalThis.stopTestServer = async () => {
    if (server) await server.stop();
    else await administer(adminUrl, `drop database if exists ${template} with (force)`);
    if (folder) await rm(folder, { recursive: true, force: true });
  };
  await administer(adminUrl, `create database ${template}`);
  const urls = await migrate({ databaseUrl: withDatabase(adminUrl, template), databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys });
  const handed: TestServer = { adminUrl, apiUrl: urls.databaseApiUrl, workerUrl: urls.databaseWorkerUrl, template };
  process.env['TEST_POSTGRES'] = JSON.stringify(handed);
}
