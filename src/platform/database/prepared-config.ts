import type { Config } from '@platform/config/config.js';

/** The settings of a process whose database is prepared: all URLs are known. */
export type PreparedConfig = Config & { readonly databaseUrl: string; readonly databaseApiUrl: string; readonly databaseWorkerUrl: string };
