import 'reflect-metadata';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandBus } from '@nestjs/cqrs';
import { Client } from 'pg';
import { ProvisionDevelopmentCommand } from '@contexts/sign-in/public/provision-development.command.js';
import { Config } from '@platform/config/config.js';
import { loadConfig } from '@platform/config/env.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { Authenticator } from '@platform/identity/authenticator.js';
import { prepare } from '@platform/local/prepare.js';
import { configOrFailure, type Program } from '@platform/local/program.js';
import { serve } from '@platform/local/serve.js';
import { AppModule } from '../../src/app.module.js';

export type AccessServer = { readonly url: string; readonly token: string };

const program: Program = { progress: () => undefined, onStop: () => undefined, fail: (error) => console.error(error), graceMs: 0 };

/** What every tenant table is protected by, taken away. */
async function withoutPolicies(url: string): Promise<void> {
  const superuser = new Client({ connectionString: url });
  await superuser.connect();
  const { rows } = await superuser.query<{ name: string }>(`select relname as name from pg_class where relnamespace = 'public'::regnamespace and relrowsecurity`);
  for (const { name } of rows) await superuser.query(`alter table ${name} disable row level security, no force row level security`);
  await superuser.end();
}

/** The identity of the first request serves all: nothing is looked up, proven or asked of the database. */
async function withoutChecks(authenticator: Authenticator, token: string): Promise<void> {
  const known = await authenticator.authenticate(token, null);
  authenticator.authenticate = () => Promise.resolve(known);
}

/** The product's API without a worker, so that a request is all that is measured: `node access-server.js <database url> checked|unchecked`. */
async function run(databaseUrl: string, isChecked: boolean): Promise<void> {
  process.chdir(await mkdtemp(join(tmpdir(), 'openbot-bench-access-')));
  const env = {
    DATABASE_URL: databaseUrl,
    OPENBOT_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}`,
    OPENBOT_ROLES: 'api',
    OPENBOT_LOG_LEVEL: 'silent',
    PORT: '0',
  };
  const prepared = new Config({ ...(await prepare(configOrFailure(loadConfig(env)), program)), privatePort: null }) as PreparedConfig;
  if (!isChecked) await withoutPolicies(databaseUrl);
  const { app, url } = await serve(AppModule.register(prepared), prepared, program);
  const { token } = await app.get(CommandBus).execute(new ProvisionDevelopmentCommand(null));
  if (!isChecked) await withoutChecks(app.get(Authenticator, { strict: false }), token);
  process.on('message', () => void app.close().then(() => process.exit(0)));
  process.on('disconnect', () => process.exit(1));
  process.send?.({ url, token } satisfies AccessServer);
}

const [, , databaseUrl, variant] = process.argv;
if (databaseUrl) void run(databaseUrl, variant === 'checked');
