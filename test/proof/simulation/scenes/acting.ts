import { commitBatch } from '@test/integration/engine/by-hand.js';
import type { CommitItem } from '@engine/commit-item.js';
import type { LoadedWork } from '@engine/loaded-work.js';
import type { Head } from '@engine/head.js';
import { untilAnswered, type Hand, type Stage } from '../stage.js';

export const wait = (seen: number): Partial<CommitItem> => ({ to: 'waiting', do: 'wait', until: null, seen });
export const row = (head: Head, number: number): Partial<CommitItem> => ({ feature: 'probe', aggregate: head.subjectId ?? '', rows: { number } });
export const event = { t: 'Text', step: 1, attempt: 1, b: 'AAAA' };
export const call = { step: 1, name: 'call', attempt: 1 };
export const opened = { ...call, kind: 'test', safety: 'unproven' as const, key: 'key' };

/** One commit as the committer sends it: the same bytes until a row answers. */
export const commit = ({ storage }: Hand, item: CommitItem) => untilAnswered(async () => (await commitBatch(storage.pool, [item])).get(item.id)?.outcome);
export const passed = (outcome: string | undefined): boolean => outcome === 'applied' || outcome === 'already';

export async function load({ storage }: Hand, stage: Stage, id: string): Promise<LoadedWork> {
  const { organizationId, projectId } = stage.tenant;
  const { rows } = await untilAnswered(() => storage.query({ text: 'select load_work($1, $2, $3) as work', values: [organizationId, projectId, id] }));
  return (rows[0] as { work: LoadedWork }).work;
}

/** Work that somebody holds is skipped: the next claim finds it. */
export async function claimed(stage: Stage, { storage }: Hand): Promise<Head> {
  for (;;) {
    const [head] = await stage.claim('n1', storage.pool);
    if (head) return head;
  }
}

export const headOf = async (stage: Stage, id: string) => (await stage.ask('select * from execution where id = $1', [id]))[0]!;
export const rowsOf = async (stage: Stage, id: string): Promise<number[]> =>
  (await stage.ask<{ number: number }>('select number from probe_row where execution_id = $1 order by 1', [id])).map(({ number }) => number);

/** What a new owner reads; under the planted rule in the wrong order. */
export async function read(hand: Hand, stage: Stage, id: string): Promise<LoadedWork> {
  if (stage.lane.bug?.rule !== 'signals before the counter') return load(hand, stage, id);
  const { signals } = await load(hand, stage, id);
  return { ...(await load(hand, stage, id)), signals };
}
