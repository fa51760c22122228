import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { RunningProgram } from './program.js';
import { tableOf } from './table.js';

type Statement = { readonly login: string; readonly query: string; readonly calls: number };

/** Until hints have found out who listens, and the first sweeps have gone by. */
const settlesMs = 15_000;

/** What each statement was called by now, of the logins of the server alone. */
async function statementsOf(database: Client): Promise<Map<string, Statement>> {
  const { rows } = await database.query<{ login: string; query: string; calls: string }>(
    `select r.rolname as login, s.query, sum(s.calls) as calls from pg_stat_statements s join pg_roles r on r.oid = s.userid
     where s.dbid = (select oid from pg_database where datname = current_database()) and r.rolname in ('openbot_api', 'openbot_worker') group by 1, 2`,
  );
  return new Map(rows.map(({ login, query, calls }) => [`${login} ${query}`, { login, query, calls: Number(calls) }]));
}

const shortened = (query: string): string => query.replace(/\s+/g, ' ').slice(0, 90);

/** One server with every role that has nothing to do: what it asks the database for, statement by statement. */
export async function measureIdle(url: string, forMs: number): Promise<string> {
  const program = await RunningProgram.start({ DATABASE_URL: url, OPENBOT_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}` });
  const database = new Client({ connectionString: url });
  await database.connect();
  try {
    await database.query('create extension if not exists pg_stat_statements');
    await delay(settlesMs);
    const before = await statementsOf(database);
    await delay(forMs);
    const after = await statementsOf(database);
    const perMinute = [...after]
      .map(([key, { login, query, calls }]) => ({ login, query, calls: ((calls - (before.get(key)?.calls ?? 0)) * 60_000) / forMs }))
      .filter(({ calls }) => calls > 0)
      .sort((one, other) => other.calls - one.calls);
    const all = perMinute.reduce((sum, { calls }) => sum + calls, 0);
    const rows = perMinute.map(({ login, query, calls }) => [`${login.replace('openbot_', '')}: ${shortened(query)}`, calls.toFixed(0)]);
    return tableOf(['One idle server', 'Statements a minute'], [...rows, ['all', `${all.toFixed(0)}, ${(all / 60).toFixed(1)} a second`]]);
  } finally {
    await database.end();
    await program.stop();
  }
}
