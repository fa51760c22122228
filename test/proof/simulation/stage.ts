import { claimAs } from '@test/integration/engine/by-hand.js';
import type { Head } from '@engine/head.js';
import { ok } from '@domain/result.js';
import type { TenantContext } from '@domain/tenancy.js';
import type { Tx } from '@engine/tx.js';
import { seededRandom } from '@test/support/tcp-proxy.js';
import { checkPicture } from './invariants.js';
import type { Lane } from './lane.js';
import { Scheduler } from './scheduler.js';
import { Storage, type Weather } from './storage.js';
import { Violation } from './violation.js';

const mostTurns = 2_000;

export type Tenant = TenantContext & { readonly projectId: string };
/** What an actor has in hand. */
export type Hand = { readonly storage: Storage; within<T>(work: (tx: Tx) => Promise<T>): Promise<T>; random(): number };
export type Scene = { readonly name: string; readonly weather?: Partial<Weather>; play(stage: Stage): Promise<void> };

/** Two or three actors on rows that were prepared for one race. */
export class Stage {
  readonly scheduler: Scheduler;
  readonly tenant: Tenant;
  readonly random: () => number;
  private readonly run: number;
  private admitted = 0;
  private probes = 0;
  private open = 0;
  private failed: unknown = null;

  constructor(
    readonly lane: Lane,
    readonly seed: number,
    private readonly weather: Weather,
  ) {
    this.run = lane.runs += 1;
    this.random = seededRandom(seed * 104_729 + 3);
    this.scheduler = new Scheduler(lane.sessions, this.random);
    this.tenant = { organizationId: this.id(0xa0), projectId: this.id(0xb0) };
  }

  id = (index: number): string => `${this.run.toString(16).padStart(8, '0')}-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;

  /** An aggregate. */
  async probe(): Promise<string> {
    const id = this.id(0xc00 + (this.probes += 1));
    await this.ask('insert into probe (id, organization_id, project_id) values ($1, $2, $3)', [id, this.tenant.organizationId, this.tenant.projectId]);
    return id;
  }

  /** Work that is ready, with a probe that counts its rows. Prepared: nothing of it is a turn. */
  async admit(more: object = {}): Promise<string> {
    const id = this.id((this.admitted += 1));
    const probe = await this.probe();
    const { organizationId: organization, projectId: project } = this.tenant;
    await this.ask('select admit_executions($1::jsonb)', [
      JSON.stringify([{ id, organization, project, workflow: `scene${this.run}`, version: 1, cursor: {}, subject: probe, ready: true, ...more }]),
    ]);
    return id;
  }

  /** The same, owned. */
  async owned(node = 'n1'): Promise<Head> {
    await this.admit();
    const [head] = await this.claim(node, this.lane.superuser);
    if (!head) throw new Error('nothing to claim on the stage');
    return head;
  }

  claim = (node: string, by: Pick<Storage['pool'], 'query'>): Promise<Head[]> => claimAs(by, `${node}:${this.run}`, '1', `scene${this.run}`);

  /** The name under which a node owns on this stage. */
  nodeName = (node: string): string => `${node}:${this.run}`;

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each scene knows its rows
  async ask<R extends object = Record<string, any>>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.lane.superuser.query<R>(text, values)).rows;
  }

  actor(name: string, act: (hand: Hand) => Promise<void>): void {
    const process = this.scheduler.add(name);
    const storage = new Storage(this.scheduler, process, this.weather);
    const within = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
      const done = await storage.transact(this.tenant, async (tx) => ok(await work(tx)));
      if (!done.ok) throw new Error('an actor rolls nothing back by itself');
      return done.value;
    };
    this.open += 1;
    void process.start(async () => {
      try {
        await act({ storage, within, random: this.random });
      } catch (error) {
        this.failed ??= error;
      }
      this.open -= 1;
    });
  }

  /** All actors to their end and everything late behind them, with `once` anywhere between; then the picture must be right. */
  async curtain(once?: { readonly label: string; readonly take: () => Promise<unknown> }): Promise<void> {
    await this.scheduler.settleTurn();
    let happened = false;
    const take = async (): Promise<void> => {
      happened = true;
      await once?.take();
    };
    for (let turns = 0; this.open > 0 || this.scheduler.busy; turns += 1) {
      if (turns > mostTurns) throw new Violation('everything ends', `a scene goes on after ${mostTurns} turns`);
      await this.scheduler.advance(once && !happened ? [{ label: once.label, weight: 4, take }] : []);
      if (this.failed) break;
    }
    if (this.failed) throw asViolation(this.failed);
    await checkPicture(this.lane.sessions.observer, [this.id(0), this.id(0xffff)]);
  }
}

/** What the database refuses is no turn of a scene: every statement of an actor is one that may be sent. */
function asViolation(failed: unknown): unknown {
  const { code, message } = failed as { code?: unknown; message?: unknown };
  return typeof code === 'string' && !(failed instanceof Violation) ? new Violation('no statement fails', `${code} ${String(message)}`) : failed;
}

/** What a scene expects; the value is part of the report. */
export function expectIn(scene: string, holds: boolean, value: unknown): void {
  if (!holds) throw new Violation(scene, JSON.stringify(value));
}

/** Tries until something answered, as every sender does. */
export async function untilAnswered<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== 'ECONNRESET') throw error;
    }
  }
}

export async function playScene(lane: Lane, scene: Scene, seed: number): Promise<void> {
  const stage = new Stage(lane, seed, { cut: 0.8, split: 0.15, lost: 0.1, delayed: 0.1, ...scene.weather });
  try {
    await scene.play(stage);
  } catch (error) {
    if (error instanceof Violation) throw Object.assign(error, { seed, scene: scene.name, schedule: stage.scheduler.schedule });
    throw error;
  } finally {
    for (const process of stage.scheduler.processes) Object.assign(process, { dead: true, timers: [] });
    await lane.sessions.reset();
  }
}
