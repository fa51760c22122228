import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '@platform/database/data-source.js';
import type { PreparedConfig } from '@platform/database/prepared-config.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { StartFailure } from '@platform/local/start-failure.js';
import { Sealer } from '@platform/secrets/sealer.js';

type ErrorRow = {
  readonly id: string;
  readonly organization_id: string | null;
  readonly execution_id: string | null;
  readonly category: string;
  readonly cause: Buffer;
  readonly created_at: Date;
};

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

async function findRow(url: string, id: string): Promise<ErrorRow | null> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, application_name: 'openbot error' });
  await client.connect();
  try {
    await client.query('set role openbot_owner');
    return (await client.query<ErrorRow>('select * from find_error_record($1)', [id])).rows[0] ?? null;
  } finally {
    await client.end();
  }
}

async function openCause(config: PreparedConfig, { id, organization_id, cause }: ErrorRow): Promise<string> {
  const db = await new DataSource(dataSourceOptions(config.databaseApiUrl, 'api', 1)).initialize();
  try {
    const sealer = new Sealer(db, config);
    const key = organization_id === null ? sealer.platform : await sealer.keyOf(organization_id);
    return key.open({ table: 'error_record', record: id }, cause).toString('utf8');
  } finally {
    await db.destroy();
  }
}

/** What happened behind an error id, as JSON for the operator's eyes: it may quote inputs and secrets. */
export async function readErrorRecord(config: PreparedConfig, named: string): Promise<string> {
  // As a row or a developer's own message has it, too.
  const id = uuid.test(named) ? named.toLowerCase() : fromPublicId('error', named);
  if (id === null) throw new StartFailure('The error id is not one: copy it whole, as the answer or the log shows it (err_…).');
  const errorId = toPublicId('error', id);
  const row = await findRow(config.databaseUrl, id);
  if (!row) throw new StartFailure(`There is no error record ${errorId} in this database: look in the log of the process that named it, it may not have been saved.`);
  const { organization_id, execution_id, category, created_at } = row;
  const record = {
    errorId,
    at: created_at.toISOString(),
    category,
    organization: organization_id && toPublicId('organization', organization_id),
    execution: execution_id && toPublicId('execution', execution_id),
    cause: JSON.parse(await openCause(config, row)) as unknown,
  };
  return JSON.stringify(record, null, 2);
}
