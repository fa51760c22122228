import type { Pool } from 'pg';
import type { PlantedBug } from './planted-bugs.js';

/** Breaks the functions of one database. An edit that finds nothing to change is an error: the bug would be none. */
export async function plant(superuser: Pool, { name, edits, also }: PlantedBug): Promise<void> {
  for (const { of, from, to } of edits) {
    const { rows } = await superuser.query<{ definition: string }>(
      'select pg_get_functiondef(p.oid) as definition from pg_proc p where p.proname = $1 and p.pronamespace = $2::regnamespace',
      [of, 'public'],
    );
    const definition = rows[0]?.definition ?? '';
    const broken = definition.replace(from, to);
    if (broken === definition) throw new Error(`"${name}" finds nothing to change in ${of}`);
    await superuser.query(broken);
  }
  for (const statement of also ?? []) await superuser.query(statement);
}
