import { Pool } from 'pg';
import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { startTestApp, type Caller, type TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes are looked at field by field */
export type Answer = { readonly status: number; readonly text: string; readonly body: any };
export type Person = Omit<Caller, 'call'> & { readonly call: (method: string, path: string, body?: object) => Promise<Answer> };

export type ChatApp = {
  readonly database: TestDatabase;
  readonly provider: ScriptedProvider;
  /** Looks behind row-level security. */
  readonly outside: Pool;
  /** A new organization's owner. */
  person(): Promise<Person>;
  /** Another way in for the same person: another author. */
  otherToken(person: Person): Promise<Person>;
  /** An API key that the person makes, as one who calls; `keyId` is its own. */
  apiKey(person: Person, scopes: readonly string[]): Promise<Person & { readonly keyId: string }>;
  /** Whoever a credential is: calls made with it. */
  holder(token: string): Pick<Person, 'token' | 'call'>;
  member(owner: Person): Promise<Person>;
  bot(person: Person, more?: object): Promise<string>;
  /** Another process on the same database. */
  start(env: Record<string, string>): Promise<TestApp>;
  close(): Promise<void>;
};

export const scripted = { provider: 'openai', model: 'scripted' };

/** API and worker in one process with a provider that says what the test tells it to. */
export async function startChatApp(env: Record<string, string> = {}): Promise<ChatApp> {
  const [database, provider] = await Promise.all([openTestDatabase(), ScriptedProvider.start()]);
  const outside = new Pool({ connectionString: database.url });
  const apps: TestApp[] = [];
  const start = async (more: Record<string, string>): Promise<TestApp> => {
    const app = await startTestApp(database, { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url, OPENAI_MODEL: scripted.model, ...more });
    apps.push(app);
    return app;
  };
  const app = await start(env);
  return {
    database,
    provider,
    outside,
    start,
    person: () => app.createTenant(),
    otherToken: async (person) => {
      const { token } = (await person.call('POST', '/v1/me/tokens', { name: 'Phone' })).body;
      return { ...person, token, call: app.as(token as string) };
    },
    apiKey: async (person, scopes) => {
      const { id, key } = (await person.call('POST', '/v1/api-keys', { name: 'Program', scopes })).body;
      return { ...person, token: key, call: app.as(key as string), keyId: id };
    },
    holder: (token) => ({ token, call: app.as(token) }),
    member: (owner) => app.createMember(owner as Caller),
    bot: async ({ call }, more = {}) => {
      const made = await call('POST', '/v1/bots', { name: 'Planner', model: scripted, ...more });
      if (made.status !== 201) throw new Error(made.text);
      return made.body.id as string;
    },
    close: async () => {
      for (const started of apps.reverse()) await started.close();
      await Promise.all([provider.close(), outside.end()]);
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

/** The turn as it is stored once its execution has ended. */
export async function endOf(person: Person, receipt: Pick<Receipt, 'executionId' | 'chat' | 'turn'>): Promise<any> {
  await eventually(
    async () => (await person.call('GET', `/v1/executions/${receipt.executionId}`)).body.state as ExecutionState,
    (state) => hasEnded(state),
    30_000,
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

export const textsOf = (items: readonly any[]): string[] =>
  items.filter(({ content }) => content.type === 'message').map(({ content }) => content.content.map(({ text }: { text: string }) => text).join(''));

export async function inputsOf(person: Person, { chat, turn }: Pick<Receipt, 'chat' | 'turn'>): Promise<string[]> {
  const items = (await person.call('GET', `/v1/chats/${chat}/turns/${turn}/items?limit=100`)).body.items as { content: { role?: string } }[];
  return textsOf(items.filter(({ content }) => content.role === 'user'));
}

/** A promise and the way to settle it: what a scripted answer waits for. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

export function uuidOf(publicId: string): string {
  const uuid = fromPublicId(publicId.startsWith('mem_') ? 'member' : publicId.startsWith('bot_') ? 'bot' : 'chat', publicId);
  if (!uuid) throw new Error(`${publicId} is no id`);
  return uuid;
}
