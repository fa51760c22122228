import { Config } from '@platform/config/config.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { developmentKeys } from './local-state.js';
import { OwnDatabase } from './own-database.js';
import type { Program } from './program.js';

/**
 * Brings a process to where its modules can be made: keys, a database, roles and tables. `busy` is called as soon as the rest of the
 * work is another process's, which is the time to load code.
 */
export async function prepare(config: Config, program: Program, busy: () => void = () => undefined): Promise<PreparedConfig> {
  program.graceMs = config.graceMs;
  const encryptionKeys = config.encryptionKeys.length > 0 ? config.encryptionKeys : await developmentKeys();
  const databaseUrl = config.databaseUrl ?? (await new OwnDatabase(program, busy).start());
  const { migrate } = await import('@platform/database/migrate.js');
  const urls = await migrate({ ...config, encryptionKeys, databaseUrl }, (line) => program.progress(line));
  return new Config({ ...config, encryptionKeys, databaseUrl, ...urls }) as PreparedConfig;
}
