import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { PhaseRun } from '@engine/phase.js';
import { end, phase, wait, Workflow, type Next, type Saga, type Stored, type Wake } from '@engine/saga.js';
import { WakeChannel } from '@engine/wake-channel.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, newTenant, rowsOf, signal, startEngine, type EngineHarness } from '@test/support/engine.js';
import { seededRandom } from '@test/support/tcp-proxy.js';

/** Every hint is lost. */
class SilentWake extends WakeChannel {
  publish(): void {}
  subscribe(): () => void {
    return () => undefined;
  }
}

type Cursor = { readonly heard: number; readonly rounds: number };

/** The sender's view of what was heard: told after the commit, in this process, and never to the engine. */
const heard = new Map<string, (last: number) => void>();

class HearPhase {
  constructor(readonly run: PhaseRun<Cursor>) {}
}

@CommandHandler(HearPhase)
class HearHandler implements ICommandHandler<HearPhase> {
  async execute({ run }: HearPhase) {
    const { cursor, id } = run.execution;
    const last = Math.max(...run.wake.signals.map(({ number }) => number));
    await run.commit({ ...cursor, heard: last });
    heard.get(id)?.(last);
  }
}

@Workflow('ping', { version: 1 })
@Injectable()
class PingSaga implements Saga<Cursor> {
  next({ cursor }: Stored<Cursor>, wake: Wake): Next {
    if (cursor.heard >= cursor.rounds) return end('completed');
    return wake.signals.length > 0 ? phase(HearPhase) : wait();
  }
}

const parallel = 125;
const rounds = 40;
/** A round needs at most one idle poll (1 s, a quarter of jitter), the claim and a commit; the rest is the patience of a busy machine. */
const patienceMs = 6_000;

describe('signals without any hint', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let harness: EngineHarness;
  const tenant = newTenant();

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    harness = await startEngine(database, [HearHandler, PingSaga], { wake: new SilentWake(), slots: 200 });
  });
  afterAll(async () => {
    await harness.stop();
    await superuser.end();
    await database.close();
  });

  /** One execution's sender: its next signal goes out around the instant of a wait, a release or a claim. */
  async function play(random: () => number, latencies: number[]): Promise<string> {
    let wakeSender: () => void = () => undefined;
    let last = 0;
    const id = await admit(database, tenant, 'ping', { heard: 0, rounds });
    heard.set(id, (number) => {
      last = number;
      wakeSender();
    });
    let sent = 0;
    while (last < rounds) {
      // One alone, or two: the second lands anywhere between the first one's claim and the wait that follows it.
      const burst = Math.min(rounds - sent, random() < 0.3 ? 2 : 1);
      const startedAt = performance.now();
      for (let index = 0; index < burst; index += 1) {
        const chance = random();
        if (chance > 0.4) await pause(chance > 0.8 ? random() * 80 : random() * 3);
        await signal(database, tenant, id, 'ping', (sent += 1));
      }
      while (last < sent) {
        const timer = new AbortController();
        const missed = pause(patienceMs, 'missed', { signal: timer.signal }).catch(() => 'heard');
        const outcome = await Promise.race([missed, new Promise<string>((resolve) => (wakeSender = () => resolve('heard')))]);
        timer.abort();
        if (outcome === 'missed' && last < sent) throw new Error(`signal ${last + 1} of ${id} was not heard within ${patienceMs} ms`);
      }
      latencies.push(performance.now() - startedAt);
    }
    return id;
  }

  test('5,000 rounds of a signal in the instant of claim, wait and release: none is missed', async () => {
    const seed = Number(process.env['OPENBOT_TEST_SEED'] ?? Date.now() % 2 ** 31);
    const latencies: number[] = [];
    const played = await Promise.allSettled(Array.from({ length: parallel }, (_, index) => play(seededRandom(seed + index), latencies)));
    const failures = played.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Error).message] : []));
    if (failures.length > 0) throw new Error(`seed ${seed}: ${failures.join('; ')}`);

    const [counts] = await rowsOf(superuser, `select count(*)::int as signals, count(consumed)::int as consumed from execution_signal where name = 'ping'`);
    expect(counts).toEqual({ signals: parallel * rounds, consumed: parallel * rounds });
    expect(harness.errors).toEqual([]);
    expect(latencies.length).toBeGreaterThan(parallel * rounds * 0.6);
    // Half a minute alone; other files share the machine.
  }, 180_000);
});
