import type { ExecutionState } from '@domain/executions/state.js';
import type { Tx } from './tx.js';

/** More attached work came between the read and the lock. It has the code of a serialization failure: the transaction is rolled back and repeated. */
export class FamilyGrew extends Error {
  readonly code = '40001';

  constructor() {
    super('attached work was admitted below work that is being locked');
  }
}

/** Open attached work below these, of any depth. Not locked: more may come until its parents are held. */
export async function attachedBelow(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = (await tx.query(`select attached_of($1::uuid[]) as id`, [ids])) as { id: string }[];
  return rows.map(({ id }) => id);
}

/** In a statement after the one that locked these: whoever admits attached work holds its parent, so that after this nothing more can come below them. */
export async function assertWhole(tx: Tx, locked: readonly string[]): Promise<void> {
  const held = new Set(locked);
  if ((await attachedBelow(tx, locked)).some((id) => !held.has(id))) throw new FamilyGrew();
}

type Stopped = { readonly id: string; readonly number: number; readonly state: ExecutionState; readonly sequence: number };

/** Asks these to stop; the caller holds their heads. */
export async function stop(tx: Tx, ids: readonly string[]): Promise<Stopped[]> {
  return (await tx.query(
    `select x.id, c.o_number as number, c.o_state as state, c.o_sequence as sequence from unnest($1::uuid[]) x(id) cross join lateral request_cancel(x.id) c`,
    [ids],
  )) as Stopped[];
}

/** As `stop`, for those that nobody has asked yet. */
export async function stopOnce(tx: Tx, ids: readonly string[]): Promise<void> {
  const rows = (await tx.query(`select id from execution where id = any ($1::uuid[]) and cancel_number = 0`, [ids])) as { id: string }[];
  await stop(
    tx,
    rows.map(({ id }) => id),
  );
}
