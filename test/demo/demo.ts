import 'reflect-metadata';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import { ok } from '@domain/result.js';
import { dataSourceOptions } from '@platform/database/data-source.js';
import { migrate } from '@platform/database/migrate.js';
import { transact } from '@platform/database/transact.js';
import { startEmbeddedPostgres } from '@platform/local/embedded-postgres.js';
import { admit, logOf, newTenant, sealingOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import type { DemoProcessOptions } from './demo-process.js';
import { errandWorkflow, tools, type ErrandCursor, type ToolName } from './errand.js';
import { OutsideWorld } from './outside-world.js';

const leaseMs = 2_000;
const patienceMs = 20_000;
const began = performance.now();
const say = (line = ''): void => void process.stdout.write(line === '' ? '\n' : `${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${line}\n`);

type Head = { readonly state: ExecutionState; readonly owner: string | null; readonly cursor: ErrandCursor };

async function startProcess(urls: Pick<DemoProcessOptions, 'url' | 'apiUrl' | 'workerUrl'>, node: string): Promise<ChildProcess> {
  const hook = join(__dirname, '..', 'support', 'typescript-process.cjs');
  const options: DemoProcessOptions = { ...urls, node, leaseMs };
  const child = fork(join(__dirname, 'demo-process.ts'), [JSON.stringify(options)], { execArgv: ['-r', hook], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(child, 'message');
  return child;
}

/** Two processes, two kills: one where the outside knows a key, one where nobody can tell. Exits with 1 when anything happened twice or not at all. */
async function demo(folder: string, closing: (() => unknown)[]): Promise<boolean> {
  say('Starting a PostgreSQL of its own, in a folder that is removed again');
  const server = await startEmbeddedPostgres({ folder });
  closing.push(() => server.stop());
  const prepared = await migrate({ databaseUrl: server.url, databaseApiUrl: null, databaseWorkerUrl: null, encryptionKeys: [{ id: 'demo', key: Buffer.alloc(32, 7) }] });
  const urls = { url: server.url, apiUrl: prepared.databaseApiUrl, workerUrl: prepared.databaseWorkerUrl };
  const open = (login: string, role: 'api' | 'worker'): Promise<DataSource> => new DataSource(dataSourceOptions(login, role, 2)).initialize();
  const [api, worker] = await Promise.all([open(urls.apiUrl, 'api'), open(urls.workerUrl, 'worker')]);
  const database = { ...urls, api, worker, close: () => Promise.resolve() };
  const superuser = new Pool({ connectionString: server.url, max: 2 });
  closing.push(() => Promise.all([api.destroy(), worker.destroy(), superuser.end()]));
  superuser.on('error', () => undefined);

  const outside = new OutsideWorld();
  const url = await outside.open();
  closing.push(() => outside.close());
  const processes = new Map<string, ChildProcess>();
  closing.push(() =>
    Promise.all(
      [...processes.values()].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null).map((child) => (child.kill('SIGKILL'), once(child, 'exit'))),
    ),
  );
  await Promise.all(['Anna', 'Ben'].map(async (node) => processes.set(node, await startProcess(urls, node))));
  say('Two worker processes are ready: Anna and Ben');

  const tenant = newTenant();
  const held = outside.holdAnswerOf('charge_card');
  const id = await admit(database, tenant, errandWorkflow.workflow, { asked: 0, done: 0, over: false, outside: url } satisfies ErrandCursor, errandWorkflow);
  say('A bot is asked: “Three days in Rome, please, and send grandmother a postcard.”');
  const head = async (): Promise<Head> => (await superuser.query<Head>('select state, owner, cursor from execution where id = $1', [id])).rows[0]!;

  const kill = async (what: string): Promise<string> => {
    const { owner } = await head();
    const owned = processes.get(owner ?? '');
    if (!owner || !owned) throw new Error('nobody owns the work');
    say(`${owner} works on it. ${what}`);
    owned.kill('SIGKILL');
    await once(owned, 'exit');
    say(`${owner} is dead: kill -9, in the middle of the call`);
    return owner;
  };

  await held;
  const first = await kill('The bank has just charged the card, and its answer is on the way.');
  const next = outside.holdAnswerOf('post_letter');
  await eventually(head, ({ owner }) => owner !== null && owner !== first, patienceMs);
  say(`${(await head()).owner} has taken over. The bank knows keys, so it is asked again with the same key, and charges nothing twice`);
  processes.set(first, await startProcess(urls, first));
  await next;
  const second = await kill('The postcard has just been handed in, and the receipt is on the way.');
  outside.answerAgain();
  await eventually(head, ({ state, owner }) => state === 'outcome_unknown' && owner === null, patienceMs);
  say('A post office knows no keys. OpenBot does not guess and does not send again: the work waits for a person');
  say('The person looks, finds the postcard in the post, and says so');
  await settle(database, tenant, id);
  await eventually(head, ({ state }) => hasEnded(state), patienceMs);
  const log = await logOf(superuser, sealingOf(database), tenant.organizationId, id);
  for (const event of log) if (event._tag === 'Text') say(`The bot, from ${second === 'Anna' ? 'Ben' : 'Anna'}: “${event.delta}”`);

  say();
  const lines = (Object.keys(tools) as ToolName[]).map((tool) => ({ tool, ...outside.tallyOf(tool) }));
  for (const { tool, requests, effects } of lines) {
    const { effect } = tools[tool];
    say(
      `${tool.padEnd(12)} asked ${requests} ${requests === 1 ? 'time ' : 'times'}   ${effect === null ? 'a question: nothing to bring about' : `${effects} ${effect[effects === 1 ? 0 : 1]}`}`,
    );
  }
  const once_ = lines.every(({ tool, requests, effects }) => (tools[tool].effect === null ? requests >= 1 : effects === 1));
  const whole = log.every(({ sequence }, index) => sequence === index + 1);
  say(
    `The log has ${log.length} events, ${whole ? 'without a gap' : 'WITH A GAP'}. ${once_ ? 'Every effect happened once, none was lost.' : 'AN EFFECT HAPPENED TWICE OR NOT AT ALL.'}`,
  );
  return once_ && whole;
}

async function settle(database: Parameters<typeof sealingOf>[0], tenant: ReturnType<typeof newTenant>, id: string): Promise<void> {
  const key = await sealingOf(database).keyOf(tenant.organizationId);
  await transact(database.api, tenant, async (tx) => {
    const [call] = (await tx.query(`select step, name, attempt from execution_call where execution_id = $1 and state = 'unknown'`, [id])) as {
      step: number;
      name: string;
      attempt: number;
    }[];
    if (!call) throw new Error('no call waits for a decision');
    const record = `${id}:${call.step}:${call.name}:${call.attempt}:result`;
    const result = key.seal({ table: 'execution_call', record }, JSON.stringify({ done: call.name }));
    return ok(await tx.query(`select decide_call($1, $2, $3, $4, 'result', $5)`, [id, call.step, call.name, call.attempt, result]));
  });
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'openbot-demo-'));
  const closing: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
  let good = false;
  try {
    good = await demo(folder, closing);
  } finally {
    for (const close of closing.reverse()) await close();
  }
  process.exitCode = good ? 0 : 1;
}

void main();
