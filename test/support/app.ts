import { NestFactory } from '@nestjs/core';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { OrganizationRole } from '@domain/access/roles.js';
import { AdmitMemberCommand } from '@contexts/organizations/public/admit-member.command.js';
import { CreateOrganizationCommand } from '@contexts/organizations/public/create-organization.command.js';
import { IssueTokenCommand } from '@contexts/sign-in/public/issue-token.command.js';
import { Config } from '@platform/config/config.js';
import { loadConfig, type Environment } from '@platform/config/env.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { transact } from '@platform/database/transact.js';
import { httpAdapter } from '@platform/http/adapter.js';
import { configureHttp } from '@platform/http/configure.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { AppModule } from '../../src/app.module.js';
import type { TestDatabase } from './database.js';

export type Answer = { readonly status: number; readonly body: Record<string, unknown>; readonly text: string };
export type Call = (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Answer>;

/** Somebody who can call: the credential, who it is, and the calls made with it. */
export type Caller = { readonly token: string; readonly memberId: string; readonly organizationId: string; readonly call: Call };

export type TestApp = {
  readonly url: string;
  readonly nest: NestFastifyApplication;
  readonly commands: CommandBus;
  readonly queries: QueryBus;
  /** Calls with any credential, or with none. */
  as(token: string | null): Call;
  /** A new organization, and its owner. */
  createTenant(): Promise<Caller>;
  /** Another member of the owner's organization, as one who accepted an invitation without a password, with a token. */
  createMember(owner: Caller, role?: OrganizationRole, email?: string): Promise<Caller>;
  close(): Promise<void>;
};

const encryptionKey = `test:${Buffer.alloc(32, 7).toString('base64')}`;

/** The program's own modules on a test's database, listening on a free port. `env` is what its environment adds. */
export async function startTestApp(database: TestDatabase, env: Environment = {}): Promise<TestApp> {
  const config = loadConfig({ OPENBOT_LOG_LEVEL: 'silent', OPENBOT_ENCRYPTION_KEYS: encryptionKey, DATABASE_URL: database.url, ...env });
  if (!config.ok) throw new Error(`${config.failure.variable} ${config.failure.expected}`);
  const prepared = new Config({ ...config.value, databaseApiUrl: database.apiUrl, databaseWorkerUrl: database.workerUrl }) as PreparedConfig;

  const nest = await NestFactory.create<NestFastifyApplication>(AppModule.register(prepared), httpAdapter(prepared.trustedProxies), { logger: false, abortOnError: false });
  configureHttp(nest, prepared);
  await nest.listen(0, '127.0.0.1');
  return testApp(nest, (await nest.getUrl()).replace('[::1]', '127.0.0.1'));
}

function testApp(nest: NestFastifyApplication, url: string): TestApp {
  const commands = nest.get(CommandBus);

  const as =
    (token: string | null): Call =>
    async (method, path, body, headers = {}) => {
      const response = await fetch(url + path, {
        method,
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Answer['body']), text };
    };

  async function createTenant(): Promise<Caller> {
    const [organization, project, owner] = [uuidv7(), uuidv7(), uuidv7()] as const;
    const made = await commands.execute(
      new CreateOrganizationCommand({
        organization: { id: organization, name: 'Example' },
        project: { id: project, name: 'Default' },
        owner: { id: owner, name: 'Olivia', email: 'olivia@example.com' },
      }),
    );
    if (!made.ok) throw new Error('a new organization cannot be there');
    const { token } = await commands.execute(new IssueTokenCommand({ organizationId: organization, projectId: null }, owner, { name: 'Test', expiresInMs: null }));
    return { token, memberId: toPublicId('member', owner), organizationId: organization, call: as(token) };
  }

  async function createMember({ memberId, organizationId }: Caller, role: OrganizationRole = 'member', email = `${uuidv7()}@example.com`): Promise<Caller> {
    const context = { organizationId, projectId: null };
    const admission = { name: 'Max', email, role, passwordSignIn: false, projects: [] };
    const admitted = await transact(nest.get(DataSource), context, (tx) => commands.execute(new AdmitMemberCommand(fromPublicId('member', memberId)!, admission, '127.0.0.1', tx)));
    if (!admitted.ok) throw new Error(`a member was not made: ${admitted.failure._tag}`);
    const { token } = await commands.execute(new IssueTokenCommand(context, admitted.value, { name: 'Test', expiresInMs: null }));
    return { token, memberId: toPublicId('member', admitted.value), organizationId, call: as(token) };
  }

  return { url, nest, commands, queries: nest.get(QueryBus), as, createTenant, createMember, close: () => nest.close() };
}
