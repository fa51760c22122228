import { Module, type DynamicModule } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { getMetadataArgsStorage } from 'typeorm';
import { dataSourceOptions } from './data-source.js';
import type { PreparedConfig } from './prepared-config.js';

/**
 * The API's DataSource (injected as `DataSource`), and where the worker role runs the worker's (named `worker`), which alone may run
 * the engine's functions. Both know every row class: a phase of the worker reads and writes what the API does.
 */
@Module({})
export class DatabaseModule {
  static register(config: PreparedConfig): DynamicModule {
    // The first attempt counts: the database has just been prepared, so what fails now is no slow start.
    const common = { retryAttempts: 1 };
    const api = TypeOrmModule.forRoot({ ...dataSourceOptions(config.databaseApiUrl, 'api', config.apiConnections), ...common, autoLoadEntities: true });
    const worker = TypeOrmModule.forRoot({
      ...dataSourceOptions(config.databaseWorkerUrl, 'worker', config.workerConnections),
      ...common,
      name: 'worker',
      entities: getMetadataArgsStorage().tables.map(({ target }) => target),
    });
    return { module: DatabaseModule, imports: config.roles.worker ? [api, worker] : [api] };
  }
}
