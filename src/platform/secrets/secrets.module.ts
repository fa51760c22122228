import { Global, Module } from '@nestjs/common';
import { processDatabase, processDatabaseProvider } from './process-database.js';
import { Sealer } from './sealer.js';

/** Needs a global `Config`, and a DataSource that other modules make global (Nest's TypeORM module does). */
@Global()
@Module({ providers: [Sealer, processDatabaseProvider], exports: [Sealer, processDatabase] })
export class SecretsModule {}
