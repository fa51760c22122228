import { Client } from 'pg';
import type { TenantContext } from '@domain/tenancy.js';
import type { WakeChannel } from '@engine/wake-channel.js';
import type { NoOpWatch } from './no-op-work.js';

/**
 * Tells callers that their work has ended, as the store has it: a hint names the execution, one statement under the tenant's policies shows the end.
 * What is hinted while a statement is on its way goes into the next one. Hints of work that has steps left are passed over: its caller asked for
 * nothing but the end.
 */
export class EndObserver {
  private readonly waiting = new Map<string, () => void>();
  private readonly hinted = new Set<string>();
  private reading = false;
  private stopListening: () => void = () => undefined;

  private constructor(
    private readonly client: Client,
    private readonly watch: NoOpWatch,
  ) {}

  /** The connection is the tenant's for as long as it lives: it is a caller of the bench, and in no pool. */
  static async open(apiUrl: string, context: TenantContext, wake: WakeChannel, watch: NoOpWatch): Promise<EndObserver> {
    // Its one statement is planned while the table is small: never as a walk through the whole of it.
    const client = new Client({ connectionString: apiUrl, options: '-c enable_seqscan=off' });
    await client.connect();
    await client.query(`select set_config('app.organization', $1, false), set_config('app.project', $2, false)`, [context.organizationId, context.projectId]);
    const observer = new EndObserver(client, watch);
    observer.stopListening = wake.subscribe((hint) => {
      for (const id of hint === 'all' ? observer.waiting.keys() : hint) observer.look(id);
    });
    return observer;
  }

  ended(id: string): Promise<void> {
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  async close(): Promise<void> {
    this.stopListening();
    await this.client.end();
  }

  private look(id: string): void {
    if (!this.waiting.has(id) || !this.watch.ending.has(id)) return;
    this.hinted.add(id);
    if (this.reading) return;
    this.reading = true;
    // All that is hinted in this turn of the loop is one question.
    setImmediate(() => void this.readHinted());
  }

  private async readHinted(): Promise<void> {
    while (this.hinted.size > 0) {
      const ids = [...this.hinted];
      this.hinted.clear();
      const { rows } = await this.client.query<{ id: string }>({
        name: 'ended',
        text: 'select id from execution where id = any ($1::uuid[]) and ended_at is not null',
        values: [ids],
      });
      for (const { id } of rows) this.settle(id);
    }
    this.reading = false;
  }

  private settle(id: string): void {
    this.watch.ending.delete(id);
    this.waiting.get(id)?.();
    this.waiting.delete(id);
  }
}
