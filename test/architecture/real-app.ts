import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { loadConfig } from '@platform/config/env.js';
import { httpAdapter } from '@platform/http/adapter.js';
import { configureHttp } from '@platform/http/configure.js';
import { openTestDatabase } from '@test/support/database.js';
import { AppModule } from '../../src/app.module.js';

/** The server as it is deployed, API and worker, on a database of its own. It listens to nobody. */
export async function openRealApp(): Promise<{ readonly app: NestFastifyApplication; close(): Promise<void> }> {
  const database = await openTestDatabase(1);
  const config = loadConfig({ OPENBOT_LOG_LEVEL: 'silent', OPENBOT_ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}` });
  if (!config.ok) throw new Error(`${config.failure.variable} ${config.failure.expected}`);
  const prepared = { ...config.value, databaseUrl: database.url, databaseApiUrl: database.apiUrl, databaseWorkerUrl: database.workerUrl };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.register(prepared), httpAdapter(), { logger: false, abortOnError: false });
  configureHttp(app, prepared);
  await app.init();
  const close = async (): Promise<void> => {
    await app.close();
    await database.close();
  };
  return { app, close };
}
