import { getDataSourceToken } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

/** Models are asked for by routes and by running turns: the API's database, or the worker's in a process that has no API. */
export const modelsDatabase = 'openbot:models-database';

export const modelsDatabaseProvider = {
  provide: modelsDatabase,
  inject: [
    { token: DataSource, optional: true },
    { token: getDataSourceToken('worker'), optional: true },
  ],
  useFactory: (api?: DataSource, worker?: DataSource): DataSource => {
    const database = api ?? worker;
    if (!database) throw new Error('a process without a database cannot list models');
    return database;
  },
};
