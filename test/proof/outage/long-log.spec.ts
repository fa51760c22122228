import { readFile, writeFile } from 'node:fs/promises';
import { Client } from 'pg';
import { eventBinding, sealEvent } from '@engine/events.js';
import { accepted, endedExecution, openServerWorld, scriptedModel, sendMessage, type Receipt, type ServerWorld } from '@test/recovery/server/server-world.js';
import { sealingOf } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import type { ServerRun } from '@test/support/server-process.js';

const events = 100_000;
const leaseMs = 1_500;
const takeoverMs = 5_000;
/** Far below what the log takes as one piece, and above what one turn takes of a process that has served some. */
const grownMb = 64;

let world: ServerWorld;
const servers = new Map<string, ServerRun>();
let receipt: Receipt;
let id: string;
/** The model's answer to the long turn does not end while this holds: its owner stays in the middle of it. */
let isHeld = true;

beforeAll(async () => {
  world = await openServerWorld();
  world.provider.whenAsked(({ text }) => ({ text: ['A ', 'long ', 'answer.'], ...(isHeld && text.includes('A long turn') ? { end: 'hold' as const } : {}) }));
  await Promise.all(['one', 'two'].map(async (node) => servers.set(node, await (await world.place({ node, env: { OPENBOT_LEASE_MS: String(leaseMs) } })).start())));
  receipt = await sendMessage(servers.get('one')!.local, 'A long turn');
  id = world.uuid(receipt);
  await world.text(receipt);
  await lengthen();
});
afterAll(() => world.close());

/** Text as a sender of the execution's own would append it, after what its owner has said so far; the owner's next commit goes on behind it. */
async function lengthen(): Promise<void> {
  const [head] = await world.rows('select organization_id, project_id from execution where id = $1', [id]);
  const key = await sealingOf(world.database).keyOf(head.organization_id as string);
  const body = sealEvent(key, eventBinding(id, 'Text', null), { _tag: 'Text', step: 1, attempt: 1, delta: 'one word of many in a log that has grown long ' });
  await world.rows(
    `with head as (update execution set sequence = sequence + $2 where id = $1 returning organization_id, project_id, sequence - $2 as before)
     insert into execution_event (execution_id, sequence, organization_id, project_id, type, step, attempt, body)
     select $1, before + n, organization_id, project_id, 'Text', 1, 1, $3 from head, generate_series(1, $2::int) n`,
    [id, events, body],
  );
  await world.rows('analyze execution_event');
}

const memoryMb = async (pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> =>
  Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024);

type Plan = { readonly 'Node Type': string; readonly 'Index Name'?: string; readonly 'Index Cond'?: string; readonly Plans?: readonly Plan[]; readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }; // prettier-ignore
const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const places = [0, 1_000, events / 2, events - 100];

/** As the API's login and under its tenant's policies. */
async function explainPages(explained: (after: number) => { readonly text: string; readonly values: unknown[] }): Promise<Plan[]> {
  const [head] = await world.rows('select organization_id, project_id from execution where id = $1', [id]);
  const client = new Client({ connectionString: world.database.apiUrl });
  await client.connect();
  try {
    await client.query(`begin`);
    await client.query(`select set_config('app.organization', $1, true), set_config('app.project', $2, true)`, [head.organization_id, head.project_id]);
    const plans: Plan[] = [];
    for (const after of places) {
      const { text, values } = explained(after);
      // Once before, so that only the page itself is counted.
      await client.query(text, values);
      const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(`explain (analyze, buffers, format json) ${text}`, values);
      plans.push(rows[0]!['QUERY PLAN'][0].Plan);
    }
    return plans;
  } finally {
    await client.end();
  }
}
const buffersOf = (plan: Plan): number => plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];

test('a page of a hundred thousand events is one range of the index, wherever it is', async () => {
  const text = 'select e.* from execution_event e where e.execution_id = $1 and e.sequence > $2 order by e.sequence limit 100';
  const plans = await explainPages((after) => ({ text, values: [id, after] }));
  for (const plan of plans) {
    expect(nodesOf(plan).map((node) => node['Node Type'])).toEqual(['Limit', 'Index Scan']);
    expect(nodesOf(plan)[1]).toMatchObject({ 'Index Name': 'execution_event_pkey' });
    expect(nodesOf(plan)[1]?.['Index Cond']).toMatch(/execution_id = .*sequence > /);
  }
  // And as readers ask, through the function with its own plan.
  const [head] = await world.rows('select organization_id, project_id from execution where id = $1', [id]);
  const question = (after: number) => JSON.stringify([{ id, organization: head.organization_id, project: head.project_id, after, limit: 100, bytes: 262_144 }]);
  const asked = await explainPages((after) => ({ text: 'select sequence from read_events($1::jsonb)', values: [question(after)] }));
  const [buffers, askedBuffers] = [plans.map(buffersOf), asked.map(buffersOf)];
  console.info(`buffers of a page after ${places.join(', ')}: ${buffers.join(', ')}; of the function's: ${askedBuffers.join(', ')}`);
  for (const all of [buffers, askedBuffers]) expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(10);
});

test('another process takes over work with a hundred thousand events in seconds, with the memory that other work takes', async () => {
  // Both have served before: what a process takes for its first turn is not the log's.
  for (const { local } of servers.values()) {
    const bot = await accepted(local, 'POST', '/v1/bots', { name: 'Short', model: scriptedModel });
    await endedExecution(local, await sendMessage({ ...local, botId: bot.id as string }, 'A short turn'));
  }
  const [{ owner, generation }] = (await world.rows('select owner, generation from execution where id = $1', [id])) as [{ owner: string; generation: number }];
  const heir = servers.get(owner === 'one' ? 'two' : 'one')!;
  const before = await memoryMb(heir.pid, 'VmRSS');
  // It forgets the most that it has taken so far.
  await writeFile(`/proc/${heir.pid}/clear_refs`, '5');
  isHeld = false;
  const at = performance.now();
  servers.get(owner)!.signal('SIGKILL');
  await eventually(
    () => world.rows('select 1 from execution where id = $1 and generation > $2 and stalls = 0', [id, generation]),
    (taken) => taken.length > 0,
    60_000,
  );
  const tookMs = performance.now() - at;
  expect(await endedExecution(heir.local, receipt, 60_000)).toMatchObject({ state: 'completed', failure: null });
  const peak = await memoryMb(heir.pid, 'VmHWM');
  console.info(`taken over and committed ${Math.round(tookMs)} ms after the kill, with a lease of ${leaseMs} ms; the new owner took ${before} MB before and ${peak} MB at most`);
  expect(tookMs).toBeLessThan(takeoverMs);
  expect(peak - before).toBeLessThan(grownMb);

  const [{ stored, last }] = await world.rows('select count(*)::int as stored, max(sequence)::int as last from execution_event where execution_id = $1', [id]);
  expect(stored).toBe(last);
  expect(stored).toBeGreaterThan(events);
  const page = await accepted(heir.local, 'GET', `/v1/executions/${receipt.executionId}/events?afterSequence=${stored - 50}&limit=100`);
  expect(page.items.at(-1).body).toMatchObject({ _tag: 'State', state: 'completed' });
});
