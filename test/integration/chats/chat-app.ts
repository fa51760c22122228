import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { ChatsModule, ChatsWorkerModule } from '@contexts/chats/chats.module.js';
import { ExecutionsModule } from '@contexts/executions/executions.module.js';
import { CreateOrganizationCommand } from '@contexts/organizations/public/create-organization.command.js';
import { IssueTokenCommand } from '@contexts/sign-in/public/issue-token.command.js';
import { Config } from '@platform/config/config.js';
import { loadConfig } from '@platform/config/env.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { EngineModule } from '@platform/engine/engine.module.js';
import { httpAdapter } from '@platform/http/adapter.js';
import { configureHttp } from '@platform/http/configure.js';
import { WakeModule } from '@platform/wake/wake.module.js';
import { AppModule } from '../../../src/app.module.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes are looked at field by field */
export type Answer = { readonly status: number; readonly text: string; readonly body: any };
export type Call = (method: string, path: string, body?: object) => Promise<Answer>;
export type Person = { readonly organizationId: string; readonly memberUuid: string; readonly token: string; readonly call: Call };

export type ChatApp = {
  readonly database: TestDatabase;
  readonly provider: ScriptedProvider;
  readonly nest: NestFastifyApplication;
  /** Looks behind row-level security. */
  readonly outside: Pool;
  person(): Promise<Person>;
  /** Another way in for the same person: another author. */
  otherToken(person: Person): Promise<Person>;
  bot(person: Person, more?: object): Promise<string>;
  close(): Promise<void>;
};

const encryptionKey = `test:${Buffer.alloc(32, 7).toString('base64')}`;
export const scripted = { provider: 'openai', model: 'scripted' };

/** API and worker in one process with a provider that says what the test tells it to. */
export async function startChatApp(env: Record<string, string> = {}): Promise<ChatApp> {
  const [database, provider] = await Promise.all([openTestDatabase(), ScriptedProvider.start()]);
  const config = loadConfig({
    OPENBOT_LOG_LEVEL: 'silent',
    OPENBOT_ENCRYPTION_KEYS: encryptionKey,
    DATABASE_URL: database.url,
    OPENAI_API_KEY: 'sk-test',
    OPENAI_BASE_URL: provider.url,
    OPENAI_MODEL: scripted.model,
    ...env,
  });
  if (!config.ok) throw new Error(`${config.failure.variable} ${config.failure.expected}`);
  const prepared = new Config({ ...config.value, databaseApiUrl: database.apiUrl, databaseWorkerUrl: database.workerUrl }) as PreparedConfig;
  class WholeProgram {}
  const whole: DynamicModule = { module: WholeProgram, imports: [AppModule.register(prepared), WakeModule, EngineModule, ExecutionsModule, ChatsModule, ChatsWorkerModule] };
  const nest = await NestFactory.create<NestFastifyApplication>(whole, httpAdapter(), { logger: false, abortOnError: false });
  configureHttp(nest, prepared);
  await nest.listen(0, '127.0.0.1');
  const url = (await nest.getUrl()).replace('[::1]', '127.0.0.1');
  const commands = nest.get(CommandBus);
  const outside = new Pool({ connectionString: database.url });

  const as =
    (token: string): Call =>
    async (method, path, body) => {
      const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
      const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      const text = await response.text();
      return { status: response.status, text, body: text === '' ? {} : JSON.parse(text) };
    };
  const enter = async (organizationId: string, memberUuid: string): Promise<Person> => {
    const { token } = await commands.execute(new IssueTokenCommand({ organizationId, projectId: null }, memberUuid, { name: 'Test', expiresInMs: null }));
    return { organizationId, memberUuid, token, call: as(token) };
  };

  return {
    database,
    provider,
    nest,
    outside,
    person: async () => {
      const [organization, project, owner] = [uuidv7(), uuidv7(), uuidv7()] as const;
      await commands.execute(
        new CreateOrganizationCommand({ organization: { id: organization, name: 'Example' }, project: { id: project, name: 'Default' }, owner: { id: owner, name: 'Olivia', email: null } }),
      );
      return enter(organization, owner);
    },
    otherToken: ({ organizationId, memberUuid }) => enter(organizationId, memberUuid),
    bot: async ({ call }, more = {}) => {
      const made = await call('POST', '/v1/bots', { name: 'Planner', model: scripted, ...more });
      if (made.status !== 201) throw new Error(made.text);
      return made.body.id as string;
    },
    close: async () => {
      await nest.close();
      await provider.close();
      await outside.end();
      await database.close();
    },
  };
}

let keys = 0;
export const newKey = (): string => `key-${(keys += 1)}`;

export type Receipt = { readonly executionId: string; readonly commandKey: string; readonly sequence: number; readonly chat: string; readonly turn: string };

/** Sends a message that is accepted. */
export async function send(person: Person, bot: string, input: unknown, more: object = {}): Promise<Receipt> {
  const answer = await person.call('POST', `/v1/bots/${bot}/messages`, { input, commandKey: newKey(), ...more });
  if (answer.status !== 202) throw new Error(answer.text);
  return answer.body as Receipt;
}

export const stateOf = async (person: Person, executionId: string): Promise<string> => (await person.call('GET', `/v1/executions/${executionId}`)).body.state as string;

/** The turn as it is stored once its execution has ended. */
export async function endOf(person: Person, receipt: Pick<Receipt, 'executionId' | 'chat' | 'turn'>): Promise<any> {
  await eventually(
    () => stateOf(person, receipt.executionId),
    (state) => ['completed', 'failed', 'cancelled', 'interrupted'].includes(state),
  );
  return (await person.call('GET', `/v1/chats/${receipt.chat}/turns/${receipt.turn}`)).body;
}

export async function eventsOf(person: Person, executionId: string): Promise<{ sequence: number; body: any }[]> {
  const events: { sequence: number; body: any }[] = [];
  for (;;) {
    const { status, text, body } = await person.call('GET', `/v1/executions/${executionId}/events?afterSequence=${events.at(-1)?.sequence ?? 0}&limit=100`);
    if (status !== 200) throw new Error(text);
    if (body.items.length === 0) return events;
    events.push(...body.items);
  }
}

export const textsOf = (items: readonly any[]): string[] => items.filter(({ content }) => content.type === 'message').map(({ content }) => content.content.map(({ text }: any) => text).join(''));

/** A promise and the way to settle it: what a scripted answer waits for. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
