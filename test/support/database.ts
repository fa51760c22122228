import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource, getMetadataArgsStorage } from 'typeorm';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { withDatabase, type TestServer } from './test-server.js';

export type TestDatabase = {
  /** The superuser's URL: for looking behind row-level security. */
  readonly url: string;
  readonly apiUrl: string;
  readonly workerUrl: string;
  readonly api: DataSource;
  readonly worker: DataSource;
  close(): Promise<void>;
};

/** The rows' classes of every context, so that a test needs no list of its own. */
async function entities(): Promise<(new () => object)[]> {
  const contexts = join(__dirname, '..', '..', 'src', 'contexts');
  for (const context of readdirSync(contexts, { withFileTypes: true })) {
    if (!context.isDirectory()) continue;
    const folder = join(contexts, context.name, 'entities');
    const files = readdirSync(join(contexts, context.name)).includes('entities') ? readdirSync(folder) : [];
    for (const file of files.filter((entry) => entry.endsWith('.entity.ts'))) await import(join(folder, file));
  }
  return getMetadataArgsStorage().tables.map(({ target }) => target as new () => object);
}

async function administer(server: TestServer, statement: string): Promise<void> {
  const client = new Client({ connectionString: server.adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A database of its own for a test file: a copy of the migrated template, made in about 50 ms. */
export async function openTestDatabase(connections = 10): Promise<TestDatabase> {
  const server = JSON.parse(process.env['TEST_POSTGRES'] ?? 'null') as TestServer | null;
  if (!server) throw new Error('the test server is started by test/support/global-setup.ts');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(server, `create database ${name} template ${server.template}`);
  const [url, apiUrl, workerUrl] = [server.adminUrl, server.apiUrl, server.workerUrl].map((base) => withDatabase(base, name)) as [string, string, string];
  const rows = await entities();
  const open = (login: string, role: 'api' | 'worker'): Promise<DataSource> => new DataSource({ ...dataSourceOptions(login, role, connections), entities: rows }).initialize();
  const [api, worker] = await Promise.all([open(apiUrl, 'api'), open(workerUrl, 'worker')]);
  const close = async (): Promise<void> => {
    await Promise.all([api, worker].filter((db) => db.isInitialized).map((db) => db.destroy()));
    await administer(server, `drop database ${name} with (force)`);
  };
  return { url, apiUrl, workerUrl, api, worker, close };
}
