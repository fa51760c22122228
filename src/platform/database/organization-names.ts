import { Client } from 'pg';

/** One at a time looks whether a name is taken, and takes it: two that ask at once do not both find it free. */
const namesLock = 7_305_482_003;

/**
 * For the operator, who alone may know of all organizations: does the work while nobody else makes one by this way, and tells it whether there is one of this
 * name. Names are no keys: organizations of one name may well be two.
 */
export async function whileNameIsKept<T>(ownerUrl: string, name: string, work: (isTaken: boolean) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 10_000, application_name: 'openbot organization' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('set role openbot_owner');
    await client.query('select pg_advisory_lock($1)', [namesLock]);
    const { rows } = await client.query<{ taken: boolean }>('select organization_name_taken($1) as taken', [name]);
    return await work(rows[0]?.taken ?? false);
  } finally {
    await client.end().catch(() => undefined);
  }
}
