import { setTimeout as delay } from 'node:timers/promises';
import { ok } from '@domain/result.js';
import { requestCancel, sendSignal } from '@engine/executions.js';
import { seededRandom } from '@test/support/tcp-proxy.js';
import { checkHistory, checkPicture, type UnknownCall } from './invariants.js';
import type { Lane } from './lane.js';
import { bodyFor, runNode, type Fault } from './node.js';
import { checkLimits, checkPlaces } from './limits.js';
import { Outside } from './outside.js';
import { Scheduler, type Choice } from './scheduler.js';
import { Storage, type Weather } from './storage.js';
import type { SimulatedProcess } from './virtual-time.js';
import { Violation } from './violation.js';
import { endNumber, simulatedWorkflows, type Cursor, type Step } from './work.js';
import { budgetMs, deadlineMs, WorkTime } from './work-time.js';

const chaosTurns = 150;
const mostTurns = 4_000;
/** What a world is about beside everything else: most have nothing of it, because each makes it longer. */
const themes = ['limits', 'things', 'time', null, null] as const;

/** Ids in the order of their numbers, the same for a seed up to the number of the run. */
const idOf = (run: number, index: number): string => `${run.toString(16).padStart(8, '0')}-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;

/** Many actors at once: two nodes that run the engine, senders, cancels, deciders, and everything that may break. */
export class World {
  readonly scheduler: Scheduler;
  private readonly random: () => number;
  private readonly weather: Weather;
  private readonly storm: number;
  private readonly faults: Fault[] = [];
  private readonly outside: Outside;
  private readonly people: SimulatedProcess;
  private readonly nodes = new Map<string, SimulatedProcess | null>();
  private readonly tenants: readonly { readonly organizationId: string; readonly projectId: string }[];
  private readonly run: number;
  private readonly range: readonly [string, string];
  private readonly theme: (typeof themes)[number];
  private readonly time: WorkTime;
  private readonly asked = new Set<string>();
  private turns = 0;
  private scripts = 0;
  private calm = false;

  constructor(
    private readonly lane: Lane,
    readonly seed: number,
  ) {
    this.random = seededRandom(seed * 7_919 + 17);
    this.run = lane.runs += 1;
    this.scheduler = new Scheduler(lane.sessions, this.random);
    const pick = <T>(...from: T[]): T => from[Math.floor(this.random() * from.length)]!;
    this.weather = { cut: pick(0.2, 0.5, 0.8), split: 0.15, lost: pick(0, 0.02, 0.06), delayed: pick(0, 0.02, 0.05) };
    this.storm = pick(0, 0.01, 0.03);
    const breaks = pick(0, 0.1, 0.3);
    this.outside = new Outside(this.random, () => (this.calm ? 0 : breaks));
    this.theme = pick(...themes);
    this.range = [idOf(this.run, 0), idOf(this.run, 0xffffff)];
    this.time = new WorkTime(lane.sessions.observer, this.range);
    this.people = this.scheduler.add('people');
    this.tenants = [1, 2].map((index) => ({ organizationId: idOf(this.run, 0xa0 + index), projectId: idOf(this.run, 0xb0 + index) }));
  }

  /** Everything to its end; throws the first `Violation`. */
  async play(): Promise<void> {
    const { scheduler, lane } = this;
    await lane.sessions.observer.query('delete from node; delete from execution where ended_at is null; delete from permit; delete from token_reservation');
    const ids = await this.admit();
    for (const name of ['n1', 'n2']) this.revive(name);
    this.populate(ids);
    await scheduler.settleTurn();
    for (;;) {
      if ((this.turns += 1) > mostTurns) throw new Violation('everything ends', `not after ${mostTurns} turns`);
      if (!this.calm && this.turns > chaosTurns) this.quieten();
      await scheduler.advance(this.events());
      if (this.outside.wrong) throw this.outside.wrong;
      const looks = this.scripts === 0 ? this.turns % 10 === 0 : this.turns % 25 === 0;
      if (!looks) continue;
      const { open, unknown } = await this.look();
      for (const call of unknown) this.decide(call);
      if (open === 0 && this.scripts === 0) break;
    }
    await this.look();
    await checkHistory(lane.sessions.observer, this.range, this.outside.sent, this.faults, endNumber);
    if (this.theme === 'limits') await checkPlaces(lane.sessions.observer, this.organizations);
    if (this.theme === 'time') await this.time.check();
  }

  private async look(): ReturnType<typeof checkPicture> {
    if (this.theme === 'limits') await checkLimits(this.lane.sessions.observer, this.organizations);
    return checkPicture(this.lane.sessions.observer, this.range);
  }

  /** Whose work it is: one's, where all of it is to want the same. */
  private sideOf(index: number): number {
    return this.theme === 'limits' || this.theme === 'things' ? 0 : index % 2;
  }

  private get organizations(): string[] {
    return this.tenants.map(({ organizationId }) => organizationId);
  }

  async end(): Promise<void> {
    for (const process of [...this.scheduler.processes]) Object.assign(process, { dead: true, timers: [] });
    await this.lane.sessions.reset();
  }

  /** Work in the store before anybody looks. */
  private async admit(): Promise<string[]> {
    const { lane, random, run, theme } = this;
    const ids = Array.from({ length: 2 + Math.floor(random() * 3) }, (_, index) => idOf(run, index + 1));
    const probes = [idOf(run, 0xc1), idOf(run, 0xc2)];
    for (const [index, probe] of probes.entries())
      await lane.sessions.observer.query('insert into probe (id, organization_id, project_id) values ($1, $2, $3)', [
        probe,
        this.tenants[index]!.organizationId,
        this.tenants[index]!.projectId,
      ]);
    for (const [index, id] of ids.entries()) {
      const tenant = this.tenants[this.sideOf(index)]!;
      const steps = Array.from({ length: 1 + Math.floor(random() * 3) }, (): Step => ({
        safety: (['repeatable', 'keyed', 'reconcilable', 'unproven', 'unproven'] as const)[Math.floor(random() * 5)]!,
        limited: theme === 'limits' && random() < 0.9 ? (random() < 0.6 ? 'permit' : 'tokens') : null,
        holds: theme === 'things' && random() < 0.8,
        last: (['commit', 'finish', 'transact'] as const)[Math.floor(random() * 3)]!,
        text: random() < 0.3,
        children: Array.from({ length: random() < 0.3 ? 1 + Math.floor(random() * 2) : 0 }, () => ({ attached: random() < 0.7, workflow: random() < 0.5 ? 'work' : 'closing' })),
      }));
      const friend = random() < 0.5 ? (ids[index ^ 2] ?? null) : null;
      const cursor: Cursor = { done: 0, heard: 0, timed: false, steps, signals: Math.floor(random() * 3), timer: random() < 0.2, friend };
      const subjectId = probes[this.sideOf(index)]!;
      const wire = {
        id,
        organization: tenant.organizationId,
        project: tenant.projectId,
        workflow: random() < 0.5 ? 'work' : 'closing',
        version: 1,
        cursor,
        subject: subjectId,
        ready: true,
        ...(theme === 'time' ? (random() < 0.7 ? { budget: budgetMs } : { within: deadlineMs }) : {}),
      };
      await lane.sessions.observer.query('select admit_executions($1::jsonb)', [JSON.stringify([wire])]);
    }
    return ids;
  }

  /** Signals, and a cancel now and then. */
  private populate(ids: readonly string[]): void {
    for (const [index, id] of ids.entries()) {
      const tenant = this.tenants[this.sideOf(index)]!;
      for (let number = 1; number <= 2; number += 1) this.script((storage) => storage.transact(tenant, async (tx) => ok(await sendSignal(tx, id, { name: 'go', number }))));
      if (this.random() < 0.25) this.script((storage) => storage.transact(tenant, async (tx) => ok(await requestCancel(tx, id))));
    }
  }

  /** Somebody who tries until it was answered. */
  private script(work: (storage: Storage) => Promise<unknown>): void {
    const storage = new Storage(this.scheduler, this.people, this.weather);
    this.scripts += 1;
    void this.people.start(async () => {
      for (let attempt = 0; ; attempt += 1) {
        await delay(this.random() * 1_500);
        try {
          await work(storage);
          break;
        } catch (error) {
          if ((error as { code?: string }).code !== 'ECONNRESET') throw error;
        }
      }
      this.scripts -= 1;
    });
  }

  /** Two who decide differently: the first one's counts. */
  private decide({ execution_id: id, organization_id: organizationId, project_id: projectId, step, name, attempt }: UnknownCall): void {
    const asked = `${id} ${step} ${attempt}`;
    if (this.asked.has(asked)) return;
    this.asked.add(asked);
    for (let person = 0; person < 1 + this.scheduler.below(2); person += 1) {
      const decision = (['stop', 'retry', 'result'] as const)[this.scheduler.below(3)]!;
      const result = decision === 'result' ? bodyFor({ table: 'execution_call', record: `${id}:${step}:${name}:${attempt}:result` }, { value: 0 }) : null;
      this.script((storage) =>
        storage.transact({ organizationId, projectId }, async (tx) =>
          ok(await tx.query('select decide_call($1, $2, $3, $4, $5, $6)', [id, step, name, attempt, decision, result])),
        ),
      );
    }
  }

  private revive(name: string): void {
    const process = this.scheduler.add(name);
    this.nodes.set(name, process);
    void process.start(() =>
      runNode(process, {
        scheduler: this.scheduler,
        weather: this.weather,
        workflows: simulatedWorkflows({ outside: this.outside, process }),
        servesLimits: this.theme === 'limits',
        tookOffice: (epoch) => this.outside.tookOffice(process, epoch),
        fault: (fault) => this.faults.push(fault),
      }),
    );
  }

  /** Nothing breaks any more; what is dead comes back, and everything has to end. */
  private quieten(): void {
    this.calm = true;
    Object.assign(this.weather, { lost: 0, delayed: 0 });
    for (const [name, process] of this.nodes) {
      if (!process) this.revive(name);
      else if (process.frozen) this.scheduler.thaw(process);
    }
  }

  private events(): Choice[] {
    const { scheduler, storm } = this;
    const passes: Choice = { label: 'two hours pass', weight: this.calm ? 0.3 : 0.1, take: () => this.pass() };
    if (this.calm) return [passes];
    const weight = storm * 20;
    const events: Choice[] = [passes, { label: 'the clock steps back an hour', weight: weight / 4, take: () => this.time.stepBack() }];
    for (const [name, process] of this.nodes) {
      if (!process) events.push({ label: `${name} comes back`, weight: weight * 4, take: () => this.revive(name) });
      else if (process.frozen) events.push({ label: `${name} thaws`, weight: weight * 3, take: () => this.thaw(process) });
      else {
        events.push({ label: `${name} is killed`, weight, take: () => (scheduler.kill(process), void this.nodes.set(name, null)) });
        events.push({ label: `${name} freezes`, weight: weight / 2, take: () => void (process.frozen = true) });
      }
    }
    return events;
  }

  /** Its own clock went on. */
  private thaw(process: SimulatedProcess): void {
    process.now += this.random() * 20_000;
    this.scheduler.thaw(process);
  }

  private async pass(): Promise<void> {
    this.outside.timePasses();
    await this.time.pass();
  }
}

export const playWorld = async (lane: Lane, seed: number): Promise<World> => {
  const world = new World(lane, seed);
  try {
    await world.play();
  } catch (error) {
    if (error instanceof Violation) throw Object.assign(error, { seed, schedule: world.scheduler.schedule });
    throw error;
  } finally {
    await world.end();
  }
  return world;
};
