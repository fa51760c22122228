import { Pool } from 'pg';
import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import { fromPublicId } from '@platform/ids/typeid.js';
import { Browser } from '@test/support/browser.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { ScriptedProvider } from '@test/support/scripted-provider.js';
import { openServerPlace, type PlaceOptions, type ServerPlace } from '@test/support/server-process.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- answers of routes and rows are looked at field by field */
export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string; readonly body: any };
export type Receipt = { readonly executionId: string; readonly commandKey: string; readonly sequence: number; readonly chat: string; readonly turn: string };

/** A database, a model provider that counts what it is asked, and any number of server processes. */
export type ServerWorld = {
  readonly database: TestDatabase;
  readonly provider: ScriptedProvider;
  /** Looks behind row-level security. */
  readonly outside: Pool;
  place(options: PlaceOptions): Promise<ServerPlace>;
  rows(sql: string, values?: readonly unknown[]): Promise<any[]>;
  /** Resolves once `count` commits of streamed text are in the turn's log. */
  text(receipt: Receipt, count?: number): Promise<unknown>;
  /** The execution's id as it is stored. */
  uuid(receipt: Receipt): string;
  close(): Promise<void>;
};

export const scriptedModel = { provider: 'openai', model: 'scripted' };
/** Short enough to wait for, long enough for a busy machine to beat in time. */
export const leaseMs = 1_500;

export async function openServerWorld(): Promise<ServerWorld> {
  const [database, provider] = await Promise.all([openTestDatabase(2), ScriptedProvider.start()]);
  const outside = new Pool({ connectionString: database.url, max: 4 });
  const places: ServerPlace[] = [];
  const rows = async (sql: string, values: readonly unknown[] = []): Promise<any[]> => (await outside.query<any>(sql, [...values])).rows;
  const uuid = ({ executionId }: Receipt): string => fromPublicId('execution', executionId) ?? '';
  return {
    database,
    provider,
    outside,
    rows,
    uuid,
    text: (receipt, count = 1) =>
      eventually(
        () => rows(`select 1 from execution_event where execution_id = $1 and type = 'Text'`, [uuid(receipt)]),
        (found) => found.length >= count,
      ),
    place: async ({ env = {}, ...more }) => {
      const given = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url, OPENAI_MODEL: scriptedModel.model, OPENBOT_LEASE_MS: String(leaseMs), ...env };
      const place = await openServerPlace(database, { ...more, env: given });
      places.push(place);
      return place;
    },
    close: async () => {
      await Promise.all(places.map((place) => place.close()));
      await Promise.all([provider.close(), outside.end()]);
      await database.close();
    },
  };
}

export async function request(server: { readonly url: string; readonly token: string }, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${server.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text === '' ? {} : JSON.parse(text) };
}

export async function accepted(server: { readonly url: string; readonly token: string }, method: string, path: string, body?: object): Promise<any> {
  const answer = await request(server, method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

/** Somebody whom the caller let in: they accepted an invitation in a browser, and made a token there. */
export async function joined(by: { readonly url: string; readonly token: string }, body: object): Promise<{ id: string; token: string }> {
  const { link } = (await accepted(by, 'POST', '/v1/organization/invitations', body)) as { link: string };
  const browser = new Browser(by.url);
  const begun = await browser.ask('POST', '/auth/invitations/accept', { body: { token: link.split('#token=')[1] } });
  const made = await browser.ask('POST', '/v1/me/tokens', { body: { name: 'First' } });
  if (made.status !== 201) throw new Error(begun.text + made.text);
  return { id: begun.body['member'] as string, token: made.body['token'] as string };
}

let keys = 0;
/** To the bot that every start provides: it uses the provider of the environment. */
export const sendMessage = (server: { readonly url: string; readonly token: string; readonly botId: string }, input: string): Promise<Receipt> =>
  accepted(server, 'POST', `/v1/bots/${server.botId}/messages`, { input, commandKey: `recovery-${(keys += 1)}` }) as Promise<Receipt>;

export const endedExecution = (server: { readonly url: string; readonly token: string }, { executionId }: Receipt, timeoutMs = 20_000): Promise<any> =>
  eventually(
    () => accepted(server, 'GET', `/v1/executions/${executionId}`),
    ({ state }: { state: ExecutionState }) => hasEnded(state),
    timeoutMs,
  );

export async function eventsOf(server: { readonly url: string; readonly token: string }, { executionId }: Receipt): Promise<{ sequence: number; body: any }[]> {
  const events: { sequence: number; body: any }[] = [];
  for (;;) {
    const page = await accepted(server, 'GET', `/v1/executions/${executionId}/events?afterSequence=${events.at(-1)?.sequence ?? 0}&limit=100`);
    if (page.items.length === 0) return events;
    events.push(...page.items);
  }
}

/** All items of a chat, the oldest first. */
export async function itemsOf(server: { readonly url: string; readonly token: string }, chat: string): Promise<{ id: string; seq: number; content: any; origin: any }[]> {
  const items: any[] = [];
  for (let before: string | null = null; ;) {
    const page: any = await accepted(server, 'GET', `/v1/chats/${chat}/items?limit=100${before === null ? '' : `&before=${before}`}`);
    items.push(...page.items);
    if (page.next === null) return items.reverse();
    before = page.next as string;
  }
}

export const textOf = (content: any): string => (content.type === 'message' ? content.content.map(({ text }: { text: string }) => text).join('') : '');
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
