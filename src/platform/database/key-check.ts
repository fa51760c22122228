import type { Client } from 'pg';
import { StartFailure } from '@platform/local/start-failure.js';
import { checkValue, type MasterKey } from '@platform/secrets/master-keys.js';
import { placeOf } from './database-url.js';

type StoredCheck = { readonly master_key_id: string; readonly value: Buffer };

const shared = 'All processes of one database share its keys. A development start without OPENBOT_ENCRYPTION_KEYS makes a key for its own folder, in .openbot/encryption-key.';

/** A login that has not acted as the owner yet becomes its member for this transaction alone: a refusal leaves everything as it was. */
async function readChecks(client: Client): Promise<readonly StoredCheck[]> {
  const { rows } = await client.query<{ present: boolean }>(`select to_regclass('public.master_key_check') is not null as present`);
  if (!rows[0]?.present) return [];
  await client.query('begin');
  try {
    const { rows: acts } = await client.query<{ owner: boolean }>(
      `select pg_has_role('openbot_owner', case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end) as owner`,
    );
    if (!acts[0]?.owner) await client.query('grant openbot_owner to current_user');
    await client.query('set local role openbot_owner');
    return (await client.query<StoredCheck>('select master_key_id, value from master_key_check')).rows;
  } catch (error) {
    if ((error as { code?: string }).code !== '42501') throw error;
    throw new StartFailure('The user of DATABASE_URL may not act as openbot_owner, which owns the tables: start as the user who migrated the database, or grant it that role.');
  } finally {
    await client.query('rollback');
  }
}

/**
 * Refuses keys that are not the database's, before anything is changed: such a process would lock the others out and claim work that it
 * cannot open. A database without tables has no keys yet. Returns the keys that are new to it.
 */
export async function refuseForeignKeys(client: Client, keys: readonly MasterKey[], url: string): Promise<readonly MasterKey[]> {
  const stored = new Map((await readChecks(client)).map(({ master_key_id, value }) => [master_key_id, value]));
  const isKnown = ({ id, key }: MasterKey): boolean => stored.get(id)?.equals(checkValue(key)) ?? false;
  if (stored.size > 0 && !keys.some(isKnown))
    throw new StartFailure(`OPENBOT_ENCRYPTION_KEYS are not the keys of the database at ${placeOf(url)}: give this process the keys of the others. ${shared}`);
  const changed = keys.find((key) => stored.has(key.id) && !isKnown(key));
  if (changed)
    throw new StartFailure(
      `OPENBOT_ENCRYPTION_KEYS has a key named "${changed.id}" that is not the one which the database at ${placeOf(url)} knows by this id: put the old one back, or give a new key an id of its own. ${shared}`,
    );
  return keys.filter(({ id }) => !stored.has(id));
}

/** From now on the database knows these keys. The caller holds the lock of migrations, so nobody adds others meanwhile. */
export async function rememberKeys(client: Client, keys: readonly MasterKey[]): Promise<void> {
  if (keys.length === 0) return;
  await client.query('begin');
  await client.query('set local role openbot_owner');
  for (const { id, key } of keys) await client.query('insert into master_key_check (master_key_id, value) values ($1, $2)', [id, checkValue(key)]);
  await client.query('commit');
}
