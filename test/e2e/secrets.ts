import type { Pool } from 'pg';
import type { TestDatabase } from '@test/support/database.js';
import { sealingOf } from '@test/support/engine.js';

/** Every row of every table as text, with bytes in hexadecimal. */
export async function dumpOf(outside: Pool): Promise<string> {
  const { rows: tables } = await outside.query<{ name: string }>(`select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`);
  const parts = await Promise.all(
    tables.map(async ({ name }) => (await outside.query<{ row: string }>(`select to_jsonb(t)::text as row from "${name}" t`)).rows.map(({ row }) => `${name} ${row}`)),
  );
  return parts.flat().join('\n');
}

/** The causes of all failures in clear, as an operator reads them. */
export async function openErrorRecords(database: TestDatabase, outside: Pool): Promise<string[]> {
  const { rows } = await outside.query<{ id: string; organization_id: string | null; cause: Buffer }>('select id, organization_id, cause from error_record');
  const sealing = sealingOf(database);
  return Promise.all(
    rows.map(async ({ id, organization_id, cause }) => {
      if (organization_id === null) throw new Error(`the record ${id} belongs to no organization`);
      return (await sealing.keyOf(organization_id)).open({ table: 'error_record', record: id }, cause).toString('utf8');
    }),
  );
}

/** The saved results of an execution's calls in clear, by step and attempt. */
export async function openCallResults(database: TestDatabase, outside: Pool, executionId: string): Promise<Readonly<Record<string, { readonly requestId?: string | null }>>> {
  type Row = { step: number; name: string; attempt: number; organization_id: string; result: Buffer | null };
  const { rows } = await outside.query<Row>('select step, name, attempt, organization_id, result from execution_call where execution_id = $1', [executionId]);
  const sealing = sealingOf(database);
  const opened = rows.map(async ({ step, name, attempt, organization_id, result }) => {
    const key = await sealing.keyOf(organization_id);
    const text = result && key.open({ table: 'execution_call', record: `${executionId}:${step}:${name}:${attempt}:result` }, result).toString('utf8');
    return [`${step}.${attempt}`, JSON.parse(text ?? '{}')] as const;
  });
  return Object.fromEntries(await Promise.all(opened));
}

/** The spellings under which a secret could lie somewhere. */
const spellings = (secret: string): string[] => {
  const bytes = Buffer.from(secret);
  // In base64 a text looks different at each place of three; what is left is the same wherever it stands.
  const inBase64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(4, -4),
  );
  return [secret, bytes.toString('hex'), ...inBase64, encodeURIComponent(secret)];
};

export const findSecret = (secret: string, places: Readonly<Record<string, string>>): string[] =>
  Object.entries(places).flatMap(([name, text]) => (spellings(secret).some((spelling) => text.includes(spelling)) ? [name] : []));
