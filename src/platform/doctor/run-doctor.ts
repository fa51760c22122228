import { Client } from 'pg';
import { checks, ownedButUnknown, type Ask, type Check, type Owners } from './checks.js';
import type { Finding, Report } from './finding.js';
import { lasting, lifelessOwners } from './owners.js';

export type DoctorSettings = {
  /** The worker's login, directly to the database. */
  readonly url: string;
  readonly leaseMs: number;
  /** What this process owns and does not run, where it has an engine. */
  readonly strays?: (() => Promise<readonly string[]>) | null;
};

const connectMs = 5_000;
const statementMs = 5_000;

/** One question in a read-only transaction with a limit of its own: a connection may be a pooler's, and keeps nothing for the next. */
const asker =
  (client: Client): Ask =>
  async <R extends object>(text: string, values: readonly unknown[] = []) => {
    await client.query(`begin read only; set local statement_timeout = ${statementMs}; set local lock_timeout = 1000`);
    try {
      return (await client.query<R>(text, [...values])).rows;
    } finally {
      await client.query('rollback');
    }
  };

/** Kinds and codes: the text of an error may quote what it met. */
const reasonOf = (error: unknown): string => {
  const { name, code } = error as { name?: string; code?: unknown };
  return typeof code === 'string' ? `no answer: ${code}` : `no answer: ${name ?? 'error'}`;
};

async function look({ name, advice, absent = 'nothing to look at', look: see }: Check, ask: Ask, owners: Owners): Promise<Finding> {
  try {
    const found = await see(ask, owners);
    if (!found) return { name, advice, verdict: 'unasked', count: 0, more: false, examples: [], detail: absent };
    const { count, examples = [], more = false, detail = null } = found;
    return { name, advice, verdict: count > 0 ? 'act' : 'well', count, more, examples, detail };
  } catch (error) {
    return { name, advice, verdict: 'unseen', count: 0, more: false, examples: [], detail: reasonOf(error) };
  }
}

/** Looks at everything, one question after the other over one connection. Throws when the database cannot be reached at all. */
export async function runDoctor({ url, leaseMs, strays = null }: DoctorSettings): Promise<Report> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectMs, query_timeout: 2 * statementMs, application_name: 'openbot doctor' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const ask = asker(client);
    const owners: Owners = { lifeless: () => lifelessOwners(ask, leaseMs), lasting: (see) => lasting(see, leaseMs) };
    const findings: Finding[] = [];
    for (const check of [ownedButUnknown(strays), ...checks]) findings.push(await look(check, ask, owners));
    return { at: new Date().toISOString(), findings };
  } finally {
    await client.end().catch(() => undefined);
  }
}
