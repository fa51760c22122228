import { createHash } from 'node:crypto';
import type { ClientBase, QueryConfig } from 'pg';

/** A statement that came this often on a connection will come again. */
const repeatedAfter = 3;
/** Each holds its plan in the memory of its connection's backend. What comes beyond this is planned each time, as everything else would be. */
const maxPrepared = 250;

type Send = (query: unknown, values?: unknown, callback?: unknown) => unknown;
type Statement = { times: number; name: string | null };

/** A column was added, or changed its type, since the statement was planned. */
export const isOutdatedPlan = (error: unknown): boolean =>
  (error as { code?: string } | null)?.code === '0A000' && /cached plan/.test((error as { message?: string }).message ?? '');

const nameOf = (text: string, generation: number): string => `ob_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}_${generation}`;

/**
 * Plans statements that come again once for each connection, not each time: with the policies of row-level security in it, planning a small read takes
 * longer than running it. TypeORM knows no names, so its statements get theirs here. PostgreSQL plans anew by itself when tables or statistics change.
 * Where it cannot, because another column would come back, that one statement fails, and its next run has another name: `transact` and `read` run it again.
 */
export function prepareRepeated(client: ClientBase): void {
  const send = client.query.bind(client) as Send;
  const statements = new Map<string, Statement>();
  let prepared = 0;
  let generation = 0;
  const named = (text: string): string | null => {
    const statement = statements.get(text) ?? { times: 0, name: null };
    statement.times += 1;
    if (statement.times === 1 && statements.size < 4 * maxPrepared) statements.set(text, statement);
    if (statement.name === null && statement.times >= repeatedAfter && prepared < maxPrepared) {
      prepared += 1;
      statement.name = nameOf(text, generation);
    }
    return statement.name;
  };
  const forget = (text: string): void => {
    generation += 1;
    statements.delete(text);
  };
  const query: Send = (text, values, callback) => {
    if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0 || callback !== undefined) return send(text, values, callback);
    const name = named(text);
    if (name === null) return send(text, values);
    const answer = send({ name, text, values } satisfies QueryConfig) as Promise<unknown>;
    return answer.catch((error: unknown) => {
      if (isOutdatedPlan(error)) forget(text);
      throw error;
    });
  };
  client.query = query as ClientBase['query'];
}
