import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { EventHub } from '@engine/reading/event-hub.js';
import { readRowsOf } from '@engine/reading/read-rows.js';
import { createNode, prepare } from './contestants/openbot-node.js';
import { PacedSaga, PacedStepHandler } from './contestants/paced-work.js';
import { admitPaced, kill, startPaced, type Tenant } from './paced-process.js';
import type { Line } from './table.js';

const logs = 100;
const readersOfLog = 2;
/** Five commits a second of each log, with two events each: a thousand events a second. */
const pace = { everyMs: 200, events: 2 };

type Read = { readonly latencies: number[]; lost: number };

const percentile = (values: readonly number[], part: number): number => [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;

/** Reads one log to its end: every sequence once and in order, each event with the time since it was handed in. */
async function read(hub: EventHub, context: Tenant, id: string, into: Read): Promise<void> {
  let last = 0;
  const observation = { context, logId: id, afterSequence: 0, head: { sequence: 0, ended: false }, signal: new AbortController().signal };
  for await (const batch of hub.observeBatches(observation)) {
    const now = Date.now();
    for (const { sequence, body } of batch) {
      if (sequence !== last + 1) into.lost += Math.abs(sequence - last - 1);
      last = sequence;
      if (body._tag === 'ToolResult') into.latencies.push(now - Number(body.callId));
    }
  }
}

/** Ends the connections that listen, again and again: they come back, and are ended anew. */
async function cutListening(database: Client, signal: AbortSignal): Promise<number> {
  let cuts = 0;
  while (!signal.aborted) {
    const { rowCount } = await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query ~* '^(listen|select pg_notify)'`,
    );
    cuts += rowCount ?? 0;
    await delay(250);
  }
  return cuts;
}

export async function measureReaders(url: string, forMs: number): Promise<Line[]> {
  const logins = await prepare(url);
  const database = new Client({ connectionString: url });
  await database.connect();
  // Readers in this process, the work in another: what reaches them comes over LISTEN.
  const node = await createNode(logins, PacedSaga, [PacedStepHandler], 'readers');
  const worker = await startPaced(logins, 'writer');
  let queries = 0;
  const readRows = readRowsOf(node.api);
  const hub = new EventHub(
    (pages) => {
      queries += 1;
      return readRows(pages);
    },
    node.sealing,
    node.wake,
  );

  async function measure(measure: string, isCut: boolean): Promise<Line[]> {
    const context: Tenant = { organizationId: uuidv7(), projectId: uuidv7() };
    const seen: Read = { latencies: [], lost: 0 };
    queries = 0;
    const begin = performance.now();
    const ids = await admitPaced(node, context, logs, { ...pace, stopAt: Date.now() + forMs });
    const stopped = new AbortController();
    const cutting = isCut ? cutListening(database, stopped.signal) : Promise.resolve(0);
    await Promise.all(ids.flatMap((id) => Array.from({ length: readersOfLog }, () => read(hub, context, id, seen))));
    const seconds = (performance.now() - begin) / 1000;
    stopped.abort();
    const cuts = await cutting;
    const stored = await database.query<{ count: string }>(`select count(*) from execution_event where execution_id = any ($1::uuid[]) and type = 'ToolResult'`, [ids]);
    const events = Number(stored.rows[0]?.count);
    const lost = seen.lost + Math.abs(events * readersOfLog - seen.latencies.length);
    const p95 = percentile(seen.latencies, 0.95);
    const perSecond = queries / seconds;
    const rate = `${Math.round(events / seconds)} events/s`;
    const nothingLost: Line = {
      measure: `… lost or out of order${isCut ? `, LISTEN cut ${cuts} times` : ''}`,
      unit: 'events',
      ours: lost,
      must: '0',
      aim: '',
      verdict: lost === 0,
    };
    if (isCut) return [{ measure: `${measure}, ${rate}, p95`, unit: 'ms', ours: p95, must: '', aim: '' }, nothingLost];
    return [
      { measure: `${measure}, ${rate}, p95`, unit: 'ms', ours: p95, must: '≤ 50', aim: '≤ 25', verdict: p95 <= 50 },
      { measure: '… queries of the readers', unit: '1/s', ours: perSecond, must: '≤ 100', aim: '', verdict: perSecond <= 100 },
      nothingLost,
    ];
  }

  try {
    await measure('warm', false);
    const readers = `${logs * readersOfLog} readers`;
    return [...(await measure(readers, false)), ...(await measure(`${readers}, LISTEN cut`, true))];
  } finally {
    hub.close();
    await kill(worker);
    await node.close();
    await database.end();
  }
}
