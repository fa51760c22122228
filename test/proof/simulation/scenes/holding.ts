import { commitBatch, itemOf, releaseAll } from '@test/integration/engine/by-hand.js';
import type { Head } from '@engine/head.js';
import { expectIn, untilAnswered, type Hand, type Scene, type Stage } from '../stage.js';
import { budgetMs, WorkTime } from '../work-time.js';
import { call, commit, load, opened, passed } from './acting.js';

const limited = { ...opened, limited: true as const, to: 'intent' };
const outOf = { ...call, move: ['intent'], to: 'sending', limited: true as const };
const place = { permit: { limit: 'outside', size: 1, timeoutMs: 3_600_000 } };
const token = { tokens: { bucket: 'outside', amount: 1, capacity: 1, refillPerSecond: 1 / 1_000 } };

const atCommit = (head: Head, commitNumber: number): Head => ({ ...head, commitNumber });
const callsOf = (stage: Stage) =>
  stage.ask<{ execution_id: string; state: string }>('select execution_id, state from execution_call where organization_id = $1', [stage.tenant.organizationId]);

/** Takes the work of a node that is believed dead; null when somebody held it just then. */
async function takeOver(stage: Stage, { storage }: Hand, from: string, by: string): Promise<Head | null> {
  await untilAnswered(() => releaseAll(storage.pool, stage.nodeName(from), '1'));
  return (await stage.claim(by, storage.pool).catch(() => []))[0] ?? null;
}

const givenUp: Scene = {
  name: 'a call that is given up while what it sent is outside',
  async play(stage) {
    const first = await stage.owned('n1');
    const second = await stage.owned('n3');
    for (const head of [first, second]) await commitBatch(stage.lane.superuser, [itemOf(head, { calls: [limited] })]);
    await commitBatch(stage.lane.superuser, [itemOf(atCommit(first, 1), { calls: [{ ...outOf, gate: place }] })]);
    stage.actor('n2', async (hand) => {
      const mine = await takeOver(stage, hand, 'n1', 'n2');
      if (mine) await commit(hand, itemOf(mine, { calls: [{ ...call, move: ['sending'], to: 'unknown', limited: true }] }));
    });
    stage.actor('n3', async (hand) => {
      for (let n = 1; n < 5; n += 1) {
        if (!passed(await commit(hand, itemOf(atCommit(second, n), { calls: [{ ...outOf, gate: place }] })))) return;
        await untilAnswered(() => hand.storage.query({ text: 'select grant_permits()' }));
      }
    });
    await stage.curtain();
    const calls = await callsOf(stage);
    // No answer came, and no time passed: the place is taken.
    expectIn(this.name, calls.find(({ execution_id: id }) => id === second.id)?.state === 'intent', { calls });
  },
};

const bucket: Scene = {
  name: 'three that want the one token of a bucket',
  async play(stage) {
    const heads = [await stage.owned('n1'), await stage.owned('n2'), await stage.owned('n3')];
    for (const head of heads) await commitBatch(stage.lane.superuser, [itemOf(head, { calls: [limited] })]);
    for (const [index, head] of heads.entries())
      stage.actor(`n${index + 1}`, async (hand) => {
        for (let n = 1; n < 3; n += 1) if (!passed(await commit(hand, itemOf(atCommit(head, n), { calls: [{ ...outOf, gate: token }] })))) return;
      });
    await stage.curtain();
    const calls = await callsOf(stage);
    expectIn(this.name, calls.filter(({ state }) => state === 'sending').length === 1, { calls });
  },
};

const standing: Scene = {
  name: 'time that passes while nobody owns the work',
  async play(stage) {
    await stage.ask('insert into node (name, epoch) values ($1, 1)', [stage.nodeName('n1')]);
    const id = await stage.admit({ budget: budgetMs });
    await stage.claim('n1', stage.lane.superuser);
    const time = new WorkTime(stage.lane.sessions.observer, [stage.id(0), stage.id(0xffff)]);
    stage.actor('n2', async (hand) => {
      await untilAnswered(() => releaseAll(hand.storage.pool, stage.nodeName('n1'), '1'));
      for (let turns = Math.floor(hand.random() * 8); turns > 0; turns -= 1) await untilAnswered(() => hand.storage.query({ text: 'select name from node' }));
      await stage.claim('n2', hand.storage.pool).catch(() => undefined);
    });
    await stage.curtain({ label: 'two hours pass', take: () => time.pass() });
    const { organizationId, projectId } = stage.tenant;
    const [left] = await stage.ask<{ ms: number }>('select time_left($1, $2, $3) as ms', [organizationId, projectId, id]);
    await stage.ask('delete from node where name = $1', [stage.nodeName('n1')]);
    expectIn(this.name, left!.ms > 0 || time.ranMs(id) >= budgetMs, { left, ran: time.ranMs(id) });
  },
};

const oneHolder: Scene = {
  name: 'a takeover of work whose thing is still open',
  async play(stage) {
    const head = await stage.owned('n1');
    const { organizationId, projectId } = stage.tenant;
    const lease = (owner: Head, index: number): object => ({
      ...{ id: stage.id(0xe0 + index), kind: 'thing', resource: 'the one', execution: owner.id },
      ...{ claim: owner.claimId, generation: owner.generation, cancel: owner.cancelNumber },
    });
    const open = (owner: Head, index: number) => ({
      text: 'select open_lease($1, $2, $3::jsonb) as answer',
      values: [organizationId, projectId, JSON.stringify(lease(owner, index))],
    });
    const move = (state: string) => ({ text: 'select move_lease($1, $2, $3, $4, null) as answer', values: [organizationId, projectId, stage.id(0xe1), state] });
    await stage.ask(open(head, 1).text, open(head, 1).values);
    let isOpen = true;
    let wereOpen = 1;
    stage.actor('n1', async ({ storage }) => {
      await untilAnswered(() => storage.query(move('closing')));
      for (let turns = 3; turns > 0; turns -= 1) await untilAnswered(() => storage.query({ text: 'select name from node' }));
      isOpen = false;
      await untilAnswered(() => storage.query(move('closed')));
    });
    stage.actor('n2', async (hand) => {
      const mine = await takeOver(stage, hand, 'n1', 'n2');
      if (!mine) return;
      await load(hand, stage, head.id);
      const { rows } = await untilAnswered(() => hand.storage.query(open(mine, 2)));
      const { outcome } = (rows[0] as { answer: { outcome: string } }).answer;
      if (outcome === 'registered' && isOpen) wereOpen += 1;
    });
    await stage.curtain();
    expectIn(this.name, wereOpen === 1, { wereOpen });
  },
};

const asked: Scene = {
  name: 'a takeover of a call that its provider can be asked about',
  async play(stage) {
    const head = await stage.owned('n1');
    const intent = { ...opened, safety: 'reconcilable' as const, to: 'intent' };
    await commitBatch(stage.lane.superuser, [itemOf(head, { calls: [intent] })]);
    const provider: string[] = [];
    let isTaken = false;
    const pass = (hand: Hand, owner: Head, attempt: number) => commit(hand, itemOf(owner, { calls: [{ ...call, attempt, move: ['intent'], to: 'sending' }] }));
    stage.actor('n1', async (hand) => {
      // Its lease is over when somebody takes the work: it sends nothing any more.
      if (passed(await pass(hand, atCommit(head, 1), 1)) && !isTaken) provider.push('send');
    });
    stage.actor('n2', async (hand) => {
      for (let turns = Math.floor(hand.random() * 4); turns > 0; turns -= 1) await untilAnswered(() => hand.storage.query({ text: 'select name from node' }));
      isTaken = true;
      const mine = await takeOver(stage, hand, 'n1', 'n2');
      const found = mine && (await load(hand, stage, head.id)).calls[0]?.state;
      if (!mine || !found) return;
      if (found === 'intent') {
        if (passed(await pass(hand, mine, 1))) provider.push('send');
        return;
      }
      const isDone = provider.includes('send');
      provider.push('question');
      const known = itemOf(mine, { calls: [{ ...call, move: ['sending'], to: isDone ? 'succeeded' : 'abandoned' }] });
      if (!passed(await commit(hand, known)) || isDone) return;
      if (!passed(await commit(hand, itemOf(atCommit(mine, mine.commitNumber + 1), { calls: [{ ...intent, attempt: 2 }] })))) return;
      if (passed(await pass(hand, atCommit(mine, mine.commitNumber + 2), 2))) provider.push('send');
    });
    await stage.curtain();
    expectIn(this.name, !provider.join().includes('send,send') && provider.filter((what) => what === 'send').length <= 1, { provider });
  },
};

export const holdingScenes: readonly Scene[] = [givenUp, bucket, standing, oneHolder, asked];
