import { Global, Module } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Sealer, secretsDatabase } from './sealer.js';

@Global()
@Module({
  providers: [
    Sealer,
    {
      provide: secretsDatabase,
      inject: [
        { token: DataSource, optional: true },
        { token: getDataSourceToken('worker'), optional: true },
      ],
      useFactory: (api?: DataSource, worker?: DataSource) => {
        const database = api ?? worker;
        if (!database) throw new Error('a process without a database cannot hold secrets');
        return database;
      },
    },
  ],
  exports: [Sealer],
})
export class SecretsModule {}
