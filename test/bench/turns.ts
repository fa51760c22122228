import { Client } from 'pg';
import { median } from './median.js';
import { RunningProgram, type LocalState } from './program.js';
import { tableOf, type Line } from './table.js';

const fiveCalls = JSON.stringify({
  calls: Array.from({ length: 5 }, (_, call) => ({ name: 'openbot_todos', arguments: { items: [{ id: 'one', content: `Call ${call + 1}`, status: 'done' }] } })),
});
/** Two model steps and five tool steps. */
const stepsOfTurn = 7;

type Times = { readonly receiptMs: number; readonly firstTextMs: number; readonly endMs: number };

/** One caller with a bot of its own, so that its turns run beside those of the others. */
class Caller {
  private constructor(
    private readonly state: LocalState,
    private readonly bot: string,
  ) {}

  static async with(state: LocalState, model: string): Promise<Caller> {
    const body = { name: `Bench ${model}`, model: { provider: 'development', model } };
    const { id } = (await ask(state, '/v1/bots', body)) as { id: string };
    return new Caller(state, id);
  }

  /** Sends a message and reads the execution's stream to its end. */
  async turn(input: string): Promise<Times> {
    const begin = performance.now();
    const { executionId } = (await ask(this.state, `/v1/bots/${this.bot}/messages`, { commandKey: `bench-${process.hrtime.bigint()}-${Math.random()}`, input })) as {
      executionId: string;
    };
    const receiptMs = performance.now() - begin;
    const response = await fetch(`${this.state.url}/v1/executions/${executionId}/observe?afterSequence=0`, { headers: { authorization: `Bearer ${this.state.token}` } });
    if (!response.body) throw new Error(`no stream: ${response.status}`);
    let firstTextMs = NaN;
    let seen = '';
    for await (const chunk of response.body) {
      seen += Buffer.from(chunk).toString('utf8');
      if (Number.isNaN(firstTextMs) && seen.includes('"_tag":"Text"')) firstTextMs = performance.now() - begin;
    }
    if (!seen.includes('"state":"completed"')) throw new Error(`a turn did not complete: ${seen.slice(-500)}`);
    return { receiptMs, firstTextMs, endMs: performance.now() - begin };
  }
}

async function ask({ url, token }: LocalState, path: string, body: object): Promise<unknown> {
  const response = await fetch(url + path, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

type Counts = { readonly commits: number; readonly statements: number; readonly executionCommits: number };

/** What the database counted: transactions and statements of this database, and the numbered commits of the executions. */
async function countsOf(database: Client): Promise<Counts> {
  const { rows } = await database.query<{ commits: string; statements: string; numbered: string }>(
    `select (select xact_commit from pg_stat_database where datname = current_database()) as commits,
       (select sum(calls) from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = current_database()) as statements,
       (select coalesce(sum(commit_number), 0) from execution) as numbered`,
  );
  const [row] = rows;
  return { commits: Number(row?.commits), statements: Number(row?.statements), executionCommits: Number(row?.numbered) };
}

/** A turn with five tool calls, 50 at a time: what it costs the database, with the polling and watching of the node in it. */
export async function measureToolTurns(url: string, turns: number): Promise<{ readonly details: string; readonly lines: readonly Line[] }> {
  const program = await RunningProgram.start({ DATABASE_URL: url, OPENBOT_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` });
  const database = new Client({ connectionString: url });
  await database.connect();
  try {
    await database.query('create extension if not exists pg_stat_statements');
    const callers = await Promise.all(Array.from({ length: 50 }, () => Caller.with(program.state, 'mock-tools')));
    await Promise.all(callers.map((caller) => caller.turn(fiveCalls)));
    const before = await countsOf(database);
    const begin = performance.now();
    const times: number[] = [];
    let left = turns;
    const call = async (caller: Caller): Promise<void> => {
      while (left > 0) {
        left -= 1;
        times.push((await caller.turn(fiveCalls)).endMs);
      }
    };
    await Promise.all(callers.map(call));
    const seconds = (performance.now() - begin) / 1000;
    // Counters of the database are published a moment later.
    await database.query('select pg_stat_force_next_flush(), pg_sleep(1.5)');
    const after = await countsOf(database);
    const each = (key: keyof Counts): number => (after[key] - before[key]) / turns;
    const perTurn = each('executionCommits');
    const details = tableOf(
      ['Turn with five tool calls, 50 at a time', 'Measured'],
      [
        ['turns/s', (turns / seconds).toFixed(1)],
        ['p50 ms to the end', median(times).toFixed(0)],
        ['numbered commits of the execution per turn', perTurn.toFixed(1)],
        ['transactions of the database per turn, all in', each('commits').toFixed(1)],
        ['statements per turn, all in', each('statements').toFixed(1)],
      ],
    );
    const turn = 'turn with 5 tool calls, 50 at a time';
    const perStep = perTurn / stepsOfTurn;
    const lines: Line[] = [
      { measure: `${turn}: commits`, unit: 'per turn', ours: perTurn, must: 'printed', aim: '', verdict: Number.isFinite(perTurn) },
      { measure: `${turn}: statements`, unit: 'per turn', ours: each('statements'), must: 'printed', aim: '', verdict: Number.isFinite(each('statements')) },
      { measure: `${turn}: commits`, unit: 'per step', ours: perStep, must: '', aim: '≤ 1.5' },
    ];
    return { details, lines };
  } finally {
    await database.end();
    await program.stop();
  }
}

/** What a turn adds to the provider's own time, alone: the simulated model answers at once, so all of it is ours. */
export async function measureAddedLatency(url: string, turns: number): Promise<string> {
  const program = await RunningProgram.start({ DATABASE_URL: url, OPENBOT_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` });
  try {
    const caller = await Caller.with(program.state, 'mock-text');
    for (let warm = 0; warm < 10; warm += 1) await caller.turn('Hello');
    const times: Times[] = [];
    for (let turn = 0; turn < turns; turn += 1) times.push(await caller.turn('Hello'));
    const p50 = (of: (time: Times) => number): string => median(times.map(of)).toFixed(1);
    return tableOf(
      ['Added by a turn to a provider that answers at once, alone', 'p50 ms'],
      [
        ['to the receipt', p50(({ receiptMs }) => receiptMs)],
        ['to the first token at the client', p50(({ firstTextMs }) => firstTextMs)],
        ['to the end at the client', p50(({ endMs }) => endMs)],
      ],
    );
  } finally {
    await program.stop();
  }
}

/** A first start with the embedded PostgreSQL, starts on its data, and memory with nothing to do. */
export async function measureProcess(starts: number): Promise<string> {
  const first = await RunningProgram.start({});
  const idle = await first.idleMegabytes();
  await first.stop(true);
  const later: number[] = [];
  for (let start = 1; start <= starts; start += 1) {
    const program = await RunningProgram.start({}, first.folder);
    later.push(program.readyMs);
    await program.stop(start < starts);
  }
  return tableOf(
    ['Process with the embedded PostgreSQL', 'Measured'],
    [
      ['first start to ready, ms', first.readyMs.toFixed(0)],
      ['later start to ready, ms (median)', median(later).toFixed(0)],
      ['idle memory of the server, MB', idle.toFixed(0)],
    ],
  );
}
