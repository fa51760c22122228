import { Client } from 'pg';
import { migrate } from '@platform/database/migrate.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { toPublicId } from '@platform/ids/typeid.js';
import { readErrorRecord } from '@platform/observability/read-error-record.js';
import { openPostgresPlace, type PostgresInstance, type Settings } from '@test/support/postgres-instance.js';
import { ScriptedProvider, type RecordedRequest, type ScriptedAnswer } from '@test/support/scripted-provider.js';
import { openServerPlace, type ServerPlace, type ServerRun } from '@test/support/server-process.js';
import { startTcpProxy, type TcpProxy } from '@test/support/tcp-proxy.js';
import { Load, type Turn } from './load.js';

const encryptionKeys = [{ id: 'test', key: Buffer.alloc(32, 7) }];
const leaseMs = 3_000;

export type Node = { readonly name: string; readonly place: ServerPlace; run: ServerRun | null };
export type OutageWorld = {
  /** What is primary now: `follow` makes it another one. */
  readonly primary: PostgresInstance;
  readonly standby: PostgresInstance | null;
  /** Between the servers and the primary. */
  readonly proxy: TcpProxy;
  /** Between the primary and the standby. */
  readonly replication: TcpProxy | null;
  readonly provider: ScriptedProvider;
  readonly nodes: readonly Node[];
  readonly load: Load;
  /** Starts one again that was ended, from the folder of another build if one is named. */
  start(node: Node, build?: string): Promise<void>;
  /** The worker's login, past the proxy. */
  readonly workerUrl: string;
  /** The standby is promoted, and the servers are led to it. */
  failOver(): Promise<void>;
  rows(sql: string): Promise<any[]>; // eslint-disable-line @typescript-eslint/no-explicit-any -- rows are looked at field by field
  /** Servers that ended by themselves, with what they said last. */
  readonly deaths: readonly string[];
  /** Rejects with the first of them: clients would ask the dead without an end. */
  readonly death: Promise<never>;
  /** The full causes of what failed, for a proof that did not hold. */
  failures(): Promise<string[]>;
  close(): Promise<void>;
};
export type WorldOptions = {
  readonly nodes: readonly string[];
  readonly standby?: 'synchronous' | 'asynchronous';
  /** What the environment of the servers, and of PostgreSQL, adds. */
  readonly env?: Settings;
  readonly postgresEnv?: Settings;
};

/** Real server processes on a PostgreSQL that may be stopped, cut off and failed over. */
export async function openOutageWorld({ nodes: names, standby: mode, env = {}, postgresEnv = {} }: WorldOptions): Promise<OutageWorld> {
  const postgres = await openPostgresPlace();
  const provider = await ScriptedProvider.start();
  let primary = await postgres.create('primary');
  await primary.start({}, postgresEnv);
  const proxy = await startTcpProxy(primary.url);
  const urls = await migrate({ databaseUrl: primary.url, databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys });

  let standby: PostgresInstance | null = null;
  const replication = mode ? await startTcpProxy(primary.url) : null;
  if (mode && replication) {
    await primary.stop('fast');
    standby = await postgres.copyAsStandby(primary, 'standby', replication.url);
    await primary.start(mode === 'synchronous' ? { synchronous_standby_names: 'standby' } : {});
    await standby.start();
  }

  const through = (url: string): string => Object.assign(new URL(url), { port: new URL(proxy.url).port }).toString();
  const database = { url: through(primary.url), apiUrl: through(urls.databaseApiUrl), workerUrl: through(urls.databaseWorkerUrl) };
  const settings = { OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url, OPENAI_MODEL: 'scripted', OPENBOT_LEASE_MS: String(leaseMs), OPENBOT_GRACE_MS: '1000', ...env };
  const nodes: Node[] = await Promise.all(names.map(async (name) => ({ name, place: await openServerPlace(database, { node: name, env: settings }), run: null })));
  // The first one provides who may call; the others find it there.
  const deaths: string[] = [];
  let died: (death: Error) => void = () => undefined;
  const death = new Promise<never>((_, reject) => (died = reject));
  death.catch(() => undefined);
  const start: OutageWorld['start'] = async (node, build) => {
    const run = (node.run = await node.place.start({}, build));
    void run.exited.then(({ code, signal }) => {
      if (node.run !== run) return;
      deaths.push(`${node.name} ended with ${code ?? signal}:\n${run.output().slice(-4_000)}`);
      died(new Error(deaths.at(-1)));
    });
  };
  for (const node of nodes) await start(node);
  const token = nodes[0]!.run!.local.token;
  const load = new Load(() => nodes.flatMap(({ run }) => (run ? [{ url: run.local.url, token }] : [])));

  const rows: OutageWorld['rows'] = async (sql) => {
    const client = new Client({ connectionString: primary.url });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    get primary() {
      return primary;
    },
    workerUrl: urls.databaseWorkerUrl,
    standby,
    deaths,
    death,
    proxy,
    replication,
    provider,
    nodes,
    load,
    start,
    failOver: async () => {
      await standby!.promote();
      primary = standby!;
      proxy.lead(primary.url);
      proxy.cutAll();
    },
    rows,
    failures: async () => {
      const failed = (await rows('select error_id from execution where error_id is not null')) as { error_id: string }[];
      const config = { databaseUrl: primary.url, databaseApiUrl: database.apiUrl, encryptionKeys } as unknown as PreparedConfig;
      return Promise.all(
        failed.map(({ error_id }) => readErrorRecord(config, toPublicId('error', error_id)).catch((error: unknown) => `${error_id}: ${(error as Error).message}`)),
      );
    },
    close: async () => {
      await Promise.all(nodes.map(({ place }) => place.close()));
      await Promise.all([provider.close(), proxy.close(), replication?.close()]);
      await postgres.close();
    },
  };
}

/** A step with two tool calls, then an answer of one to two seconds. */
export function converse({ body }: RecordedRequest): ScriptedAnswer {
  const input = body['input'] as { readonly type?: string; readonly role?: string }[];
  const outputs = input.slice(input.findLastIndex(({ role }) => role === 'user')).filter(({ type }) => type === 'function_call_output');
  const usage = { input: 10, output: 5 };
  if (outputs.length > 0) return { text: Array.from({ length: 10 }, (_, part) => `${part} `), pauseMs: 100 + Math.floor(Math.random() * 100), usage };
  const call = (id: string) => ({ id: `call_${id}`, name: 'openbot_todos', arguments: JSON.stringify({ items: [{ id: 'one', content: 'The only thing', status: 'done' }] }) });
  return { calls: [call('first'), call('second')], delayMs: Math.floor(Math.random() * 500), usage };
}

export type Conversations = {
  readonly bots: readonly string[];
  readonly turnsEach: number;
  /** Names the messages: another one for each call. */
  readonly round: string;
  readonly answer?: typeof converse;
};

/** Conversations beside each other, each of several turns; `disturb` begins when they are under way. */
export async function converseUnder(world: OutageWorld, { bots, turnsEach, round, answer = converse }: Conversations, disturb: () => Promise<void>): Promise<Turn[]> {
  world.provider.whenAsked(answer);
  const conversation = async (bot: string): Promise<Turn[]> => {
    const turns: Turn[] = [];
    for (let turn = 1; turn <= turnsEach; turn += 1) turns.push(await world.load.turn(bot, `${round} ${turn} of ${bot}`));
    return turns;
  };
  const asked = world.provider.requests.length;
  const all = Promise.all(bots.map(conversation));
  all.catch(() => undefined);
  while (world.provider.requests.length < asked + bots.length) await world.provider.request(world.provider.requests.length + 1);
  await Promise.race([disturb(), world.death]);
  return (await Promise.race([all, world.death])).flat();
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Everything ended well, once, and every reader has the whole log. `calls` says how many tool calls were asked of a turn. */
export async function expectWhole(world: OutageWorld, turns: readonly Turn[], allowed: readonly string[], calls: (turn: Turn) => number = () => 2): Promise<void> {
  expect(world.deaths).toEqual([]);
  expect(await world.failures()).toEqual([]);
  for (const turn of turns) expect(turn).toMatchObject({ state: 'completed', sequences: upTo(turn.sequences.length) });
  expect(Object.keys(world.load.answers).filter((answer) => !['200', '201', '202', '503 with id and Retry-After', ...allowed].includes(answer))).toEqual([]);
  expect(
    await world.rows(`select id, state, failure_category from execution where member_id is not null and (owner is not null or ended_at is null or state <> 'completed')`),
  ).toEqual([]);
  expect(
    await world.rows('select x.id from execution x join execution_event e on e.execution_id = x.id group by x.id having max(e.sequence) <> count(*) or x.sequence <> count(*)'),
  ).toEqual([]);
  expect(await world.rows('select chat_id from chat_item group by chat_id having max(seq) <> count(*)')).toEqual([]);
  // Each call, and the end that puts a finished list away, for each turn: every effect once.
  const effects = new Map<string, number>();
  for (const turn of turns) effects.set(turn.chat, (effects.get(turn.chat) ?? 0) + calls(turn) + 1);
  const written = (await world.rows('select id, todos_version from chat')) as { readonly id: string; readonly todos_version: number }[];
  expect(new Map(written.map(({ id, todos_version }) => [toPublicId('chat', id), todos_version]))).toEqual(effects);
  expect(await world.rows('select count(*)::int as inputs, count(taken_step)::int as taken from chat_input')).toEqual([{ inputs: turns.length, taken: turns.length }]);
  expect(await world.rows(`select execution_id from execution_event where type in ('Result') group by execution_id having count(*) <> 1`)).toEqual([]);
}
