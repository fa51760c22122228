import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { createNode, prepare, settings } from './contestants/openbot-node.js';
import { PacedSaga, PacedStepHandler } from './contestants/paced-work.js';
import { median } from './median.js';
import { admitPaced, kill, startPaced } from './paced-process.js';
import type { Line } from './table.js';

const inFlight = 100;

/** Polls until the query answers `count`; answers when that was. */
async function until(database: Client, text: string, values: readonly unknown[], count: number): Promise<number> {
  for (;;) {
    const { rows } = await database.query<{ count: string }>(text, [...values]);
    if (Number(rows[0]?.count) === count) return performance.now();
    await delay(10);
  }
}

const moving = `select count(*) from execution where (cursor->>'done')::int > 0 and owner = $1`;
/** A commit of another owner than the killed one's, for each execution that it had. */
const wentOn = `select count(*) from execution x join unnest($1::uuid[], $2::int[]) k(id, done) on k.id = x.id where (x.cursor->>'done')::int > k.done and x.owner = $3`;

async function states(database: Client): Promise<{ ids: string[]; done: number[] }> {
  const { rows } = await database.query<{ id: string; done: number }>(`select id, (cursor->>'done')::int as done from execution where ended_at is null`);
  return { ids: rows.map(({ id }) => id), done: rows.map(({ done }) => done) };
}

/** A node dies with a hundred executions in flight, a step each quarter of a second: how long until every one has made a commit again. */
export async function measureKills(url: string, rounds: number): Promise<Line[]> {
  const logins = await prepare(url);
  const database = new Client({ connectionString: url });
  await database.connect();
  // It only hands in: its engine is never started.
  const api = await createNode(logins, PacedSaga, [PacedStepHandler], 'api');
  const sameNode: number[] = [];
  const otherNode: number[] = [];
  try {
    await admitPaced(api, { organizationId: uuidv7(), projectId: uuidv7() }, inFlight, { everyMs: 250, events: 1, stopAt: Date.now() + 3_600_000 });
    let owner = 'first';
    let node = await startPaced(logins, owner);
    for (let round = 1; round <= rounds; round += 1) {
      await until(database, moving, [owner], inFlight);
      await kill(node);
      const before = await states(database);
      node = await startPaced(logins, owner);
      sameNode.push((await until(database, wentOn, [before.ids, before.done, owner], inFlight)) - node.backAt);

      const other = `other-${round}`;
      const survivor = await startPaced(logins, other);
      await kill(node);
      const killedAt = performance.now();
      const left = await states(database);
      otherNode.push((await until(database, wentOn, [left.ids, left.done, other], inFlight)) - killedAt);
      node = survivor;
      owner = other;
    }
    await kill(node);
  } finally {
    await api.close();
    await database.end();
  }
  const { leaseMs } = settings();
  const line = (measure: string, times: readonly number[], limit: number): Line => {
    const ms = median(times);
    return { measure, unit: 'ms', ours: ms, range: times, must: `≤ ${limit}`, aim: '', verdict: ms <= limit };
  };
  return [
    line(`kill -9, ${inFlight} in flight, the same node back`, sameNode, 1_000),
    line(`kill -9, ${inFlight} in flight, another node, lease ${leaseMs} ms`, otherNode, leaseMs + 1_000),
  ];
}
