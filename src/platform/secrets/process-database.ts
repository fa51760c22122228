import type { FactoryProvider } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

/** The DataSource of what every process needs (data keys, error records, readiness): the API's, or the worker's where there is no API. */
export const processDatabase = 'openbot:process-database';

export const processDatabaseProvider: FactoryProvider<DataSource> = {
  provide: processDatabase,
  inject: [
    { token: DataSource, optional: true },
    { token: getDataSourceToken('worker'), optional: true },
  ],
  useFactory: (api?: DataSource, worker?: DataSource) => {
    const database = api ?? worker;
    if (!database) throw new Error('the process has no database: neither a DataSource nor one named "worker" is provided');
    return database;
  },
};
