import { Pool } from 'pg';
import type { CallSafety } from '@engine/calls.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { admit, logOf, newTenant, rowsOf, startEngine, type EngineHarness } from '@test/support/engine.js';
import { eventually } from '@test/support/eventually.js';
import { createProbeFeature, newProbe } from '../../integration/engine/probe-feature.js';
import { partsOf } from './crash-work.js';
import { startOutside, type Outside } from './outside.js';
import { startNode } from './worker-node.js';

const steps = 2;
/** What the store knows of an unproven call when the process dies there: `unknown` when it may have been sent, and how often it was. */
const points: readonly { readonly point: string; readonly unproven: 'completes' | { readonly sends: number }; readonly others: readonly CallSafety[] }[] = [
  { point: 'commit:applied', unproven: 'completes', others: ['repeatable'] },
  { point: 'call:intent', unproven: 'completes', others: ['reconcilable'] },
  { point: 'call:sending', unproven: { sends: 0 }, others: ['repeatable', 'keyed', 'reconcilable'] },
  { point: 'call:before-send', unproven: { sends: 0 }, others: ['keyed', 'reconcilable'] },
  { point: 'text:flushed', unproven: { sends: 1 }, others: ['repeatable', 'keyed', 'reconcilable'] },
  { point: 'call:result-known', unproven: { sends: 1 }, others: ['repeatable', 'keyed', 'reconcilable'] },
  { point: 'phase:ended:OutsidePhase', unproven: { sends: 1 }, others: ['repeatable', 'reconcilable'] },
  { point: 'phase:saved', unproven: 'completes', others: ['repeatable'] },
  { point: 'end:before', unproven: { sends: 2 }, others: ['repeatable'] },
  { point: 'end:after', unproven: 'completes', others: ['repeatable'] },
];
const worlds = points.flatMap(({ point, unproven, others }) =>
  (['unproven', ...others] as const).map((safety) => ({
    point,
    safety,
    workflow: `${point} ${safety}`,
    lost: safety === 'unproven' && unproven !== 'completes' ? unproven : null,
  })),
);

describe('a process that dies at a named point', () => {
  let database: TestDatabase;
  let superuser: Pool;
  let outside: Outside;
  let survivor: EngineHarness;
  const tenant = newTenant();
  const works = new Map<string, string>();
  const deaths = new Map<string, string>();
  const head = async (id: string) => (await rowsOf(superuser, 'select * from execution where id = $1', [id]))[0]!;

  /** One process for one execution: it takes it, and dies at its point. */
  async function die({ workflow, point, safety }: (typeof worlds)[number]): Promise<void> {
    const id = await admit(database, tenant, workflow, { steps, done: 0, safety, outside: outside.url }, { subjectId: await newProbe(superuser, tenant) });
    works.set(workflow, id);
    const node = startNode(database, { node: workflow, workflows: [workflow], debugPoint: point });
    deaths.set(workflow, await node.exited);
  }

  beforeAll(async () => {
    database = await openTestDatabase();
    superuser = new Pool({ connectionString: database.url });
    await createProbeFeature(superuser);
    // Longer than the flush of text: a call is open when its text goes out.
    outside = await startOutside(80);
    const waiting = [...worlds];
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let world = waiting.shift(); world; world = waiting.shift()) await die(world);
      }),
    );
    survivor = await startEngine(database, partsOf(worlds.map(({ workflow }) => workflow)), { node: 'survivor', leaseMs: 1_500 });
  }, 180_000);
  afterAll(async () => {
    await survivor.stop();
    await outside.close();
    await superuser.end();
    await database.close();
  });

  test.each(worlds)('$point, $safety', async ({ workflow, safety, lost }) => {
    expect(deaths.get(workflow)).toBe('SIGKILL');
    const id = works.get(workflow) as string;
    const end = await eventually(
      () => head(id),
      ({ ended_at, state, owner }) => ended_at !== null || (state === 'outcome_unknown' && owner === null),
    );
    const sends = outside.sends.filter(({ execution }) => execution === id);
    const calls = await rowsOf<{ step: number; state: string }>(superuser, 'select step, attempt, state from execution_call where execution_id = $1 order by step, attempt', [id]);
    const unknown = calls.filter(({ state }) => state === 'unknown');
    const log = await logOf(superuser, survivor.sealing, tenant.organizationId, id);
    expect(log.map(({ sequence }) => sequence)).toEqual(log.map((_, index) => index + 1));
    expect(end['sequence']).toBe(log.length);
    const states = log.flatMap((event) => (event._tag === 'State' ? [event.state] : []));

    if (lost) {
      expect(end['state']).toBe('outcome_unknown');
      expect(unknown).toHaveLength(1);
      expect(sends).toHaveLength(lost.sends);
      expect(sends.filter(({ step }) => step === unknown[0]?.step).length).toBeLessThanOrEqual(1);
      expect(states).toEqual(['queued', 'running', 'outcome_unknown']);
      return;
    }
    // All the rest is as if nobody had died.
    expect(end).toMatchObject({ state: 'completed', cursor: { done: steps }, stalls: 0, owner: null });
    expect(states).toEqual(['queued', 'running', 'completed']);
    expect(unknown).toEqual([]);
    expect((await rowsOf<{ number: number }>(superuser, 'select number from probe_row where execution_id = $1 order by number', [id])).map(({ number }) => number)).toEqual([
      1, 2, 3,
    ]);
    expect(await rowsOf(superuser, `select step from usage_entry where execution_id = $1 and status = 'confirmed' order by step`, [id])).toEqual([{ step: 1 }, { step: 2 }]);
    expect(log.flatMap((event) => (event._tag === 'Text' ? [event.delta] : []))).toEqual(['answer 1', 'answer 2']);
    // The two words of an attempt are its own: those of another never stand between or beside them.
    for (const step of [1, 2]) {
      const said = new Map<number, string>();
      for (const event of log) if (event._tag === 'Reasoning' && event.step === step) said.set(event.attempt, (said.get(event.attempt) ?? '') + event.delta);
      for (const words of said.values()) expect(['one two', 'one ']).toContain(words);
      // What a provider confirms is not said again: its words end where its process died.
      if (safety !== 'reconcilable') expect([...said].at(-1)).toEqual([Math.max(...said.keys()), 'one two']);
    }
    for (const step of [1, 2]) {
      const mine = sends.filter((send) => send.step === step);
      expect(mine.length).toBeGreaterThanOrEqual(1);
      expect(mine.length).toBeLessThanOrEqual(safety === 'unproven' || safety === 'reconcilable' ? 1 : 2);
      expect(new Set(mine.map(({ key }) => key)).size).toBe(1);
    }
  });
});
