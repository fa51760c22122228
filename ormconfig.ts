import { DataSource } from 'typeorm';
import { loadConfig } from './src/platform/config/env.js';
import { configOrFailure } from './src/platform/local/program.js';
import { migrationTable } from './src/platform/database/migrate.js';
import { migrations } from './src/platform/database/migrations.js';

/** For TypeORM's command line, built: `npm run build && npx typeorm migration:show -d dist/ormconfig.js` on the database of DATABASE_URL. The server migrates by itself. */
const { databaseUrl } = configOrFailure(loadConfig());
if (!databaseUrl) throw new Error('Set DATABASE_URL: the embedded database is migrated by npm start.');

export default new DataSource({
  type: 'postgres',
  url: databaseUrl,
  installExtensions: false,
  migrations: [...migrations],
  migrationsTableName: migrationTable,
  migrationsTransactionMode: 'each',
  poolSize: 1,
  extra: { onConnect: (client: { query(sql: string): Promise<unknown> }) => client.query('set role openbot_owner') },
});
