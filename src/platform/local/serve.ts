import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from 'nestjs-pino';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { httpAdapter } from '@platform/http/adapter.js';
import { configureHttp } from '@platform/http/configure.js';
import { NodeNameTaken } from '@engine/node-liveness.js';
import { PrivateServer } from '@platform/private/private-server.js';
import type { Program } from './program.js';
import { StartFailure } from './start-failure.js';

const portFaults: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken: stop what listens there, or choose another',
  EACCES: 'may not be opened by this user: choose one above 1023',
  EADDRNOTAVAIL: 'cannot be opened because HOST is no address of this machine: correct HOST, or choose another',
  ENOTFOUND: 'cannot be opened because HOST is unknown: correct HOST, or choose another',
};

/** The modules report failures by throwing, in one place: before there is a logger they say nothing of their own. */
const silent = { logger: false, abortOnError: false } as const;

/** A second process under one node's name is the operator's to solve. */
function explain(error: unknown): never {
  if (error instanceof NodeNameTaken)
    throw new StartFailure(`Node "${error.node}" already runs on this database: stop that process, or give this one a name of its own with OPENBOT_NODE.`);
  throw error;
}

/** `url`: where the API answers; `privateUrl`: where the private listener does, if there is one. */
export type Served = { readonly app: NestFastifyApplication; readonly url: string; readonly privateUrl: string | null };

/** Starts API (and worker, where the modules hold one). */
export async function serve(module: DynamicModule, config: PreparedConfig, program: Program): Promise<Served> {
  program.progress('Starting the server');
  const app = await NestFactory.create<NestFastifyApplication>(module, httpAdapter(config.trustedProxies), silent);
  program.onStop(() => app.close());
  app.useLogger(app.get(Logger));
  configureHttp(app, config);
  await app.init().catch(explain);
  try {
    // The framework would report a taken port a second time, in its own words.
    app.useLogger(false);
    await app.listen(config.port, config.host);
    app.useLogger(app.get(Logger));
  } catch (error) {
    const fault = portFaults[(error as NodeJS.ErrnoException).code ?? ''];
    throw fault ? new StartFailure(`Port ${config.port} of ${config.host} ${fault} with PORT, for example PORT=${config.port === 3001 ? 3002 : 3001}.`) : error;
  }
  const { port } = app.getHttpServer().address() as { port: number };
  const everywhere = ['0.0.0.0', '::'].includes(config.host);
  const host = config.host.includes(':') && !everywhere ? `[${config.host}]` : config.host;
  return { app, url: `http://${everywhere ? '127.0.0.1' : host}:${port}`, privateUrl: app.get(PrivateServer, { strict: false }).url };
}

/** Starts the worker's role alone. It has no listener but the private one, and answers where that is. */
export async function work(module: DynamicModule, program: Program): Promise<string | null> {
  program.progress('Starting the worker');
  const app = await NestFactory.createApplicationContext(module, silent).catch(explain);
  program.onStop(() => app.close());
  app.useLogger(app.get(Logger));
  return app.get(PrivateServer, { strict: false }).url;
}
