import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { Config } from '@platform/config/config.js';
import { httpAdapter } from '@platform/http/adapter.js';
import { configureHttp } from '@platform/http/configure.js';
import { HttpModule } from '@platform/http/http.module.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import { DirectoryAuthenticator } from '@platform/identity/directory.js';
import { IdentityModule } from '@platform/identity/identity.module.js';
import { ObservabilityModule } from '@platform/observability/observability.module.js';
import { SecretsModule } from '@platform/secrets/secrets.module.js';
import { OneToken, SampleController } from './sample.js';

export const config = new Config({
  production: false,
  logLevel: 'silent',
  encryptionKeys: [{ id: 'first', key: Buffer.alloc(32, 1) }],
  privatePort: null,
  limits: { read: 0, write: 0, message: 0, stream: 0, admin: 0, unauthenticated: 0 },
  openStreams: 0,
  traces: null,
} as unknown as Config);

export type SampleApp = { readonly app: NestFastifyApplication; readonly url: string; close(): Promise<void> };

/** A server of the platform's parts around one sample controller. */
export async function startSampleApp(db: DataSource, imports: NonNullable<Parameters<typeof Module>[0]['imports']> = []): Promise<SampleApp> {
  @Global()
  @Module({
    providers: [
      { provide: Config, useValue: config },
      { provide: DataSource, useValue: db },
      { provide: getDataSourceToken('worker'), useValue: db },
      { provide: Authenticator, useClass: OneToken },
      { provide: DirectoryAuthenticator, useValue: { authenticate: () => Promise.resolve(null) } },
    ],
    exports: [Config, DataSource, getDataSourceToken('worker'), Authenticator, DirectoryAuthenticator],
  })
  class Surroundings {}

  @Module({ imports: [Surroundings, SecretsModule, ObservabilityModule, IdentityModule, HttpModule, ...imports], controllers: [SampleController] })
  class SampleModule {}

  const app = await NestFactory.create<NestFastifyApplication>(SampleModule, httpAdapter(), { logger: false });
  configureHttp(app, config);
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), close: () => app.close() };
}
