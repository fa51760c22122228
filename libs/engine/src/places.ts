import type { Pool } from 'pg';

type Parts = {
  readonly pool: Pool;
  readonly report: (cause: unknown, category: string) => void;
  readonly reach: (point: string) => void;
  /** Work that was let in and may be claimed. */
  readonly woken: (executionIds: readonly string[]) => void;
};

/**
 * Lets calls into the shared limits that others have left, and wakes their work. A freed place is a row until somebody served it, so a process that dies
 * in between loses nothing: every node serves with each sweep. Two transactions, because one takes limits and the other heads.
 */
export class Places {
  private serving: Promise<void> | null = null;
  private again = false;

  constructor(private readonly parts: Parts) {}

  /** One at a time; whoever asks meanwhile is served by one more. Rejects never. */
  serve(): Promise<void> {
    this.again = true;
    this.serving ??= this.work().finally(() => (this.serving = null));
    return this.serving;
  }

  private async work(): Promise<void> {
    const { pool, report, reach, woken } = this.parts;
    while (this.again) {
      this.again = false;
      try {
        const { rows: limits } = await pool.query<{ served: number }>({ name: 'openbot_grant_permits', text: 'select grant_permits() as served' });
        if (limits[0]!.served > 0) reach('permit:granted');
        const { rows } = await pool.query<{ id: string }>({ name: 'openbot_wake_permitted', text: 'select id from wake_permitted() as id' });
        if (rows.length > 0) woken(rows.map(({ id }) => id));
      } catch (error) {
        return report(error, 'limits_failed');
      }
    }
  }
}
