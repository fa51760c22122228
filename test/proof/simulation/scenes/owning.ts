import { commitBatch, itemOf, releaseAll } from '@test/integration/engine/by-hand.js';
import { lockHeads, sendSignal } from '@engine/executions.js';
import type { Head } from '@engine/head.js';
import { expectIn, untilAnswered, type Hand, type Scene } from '../stage.js';
import { call, commit, event, headOf, load, opened, passed, row, rowsOf } from './acting.js';

const resend: Scene = {
  name: 'bytes that arrive after their resend',
  weather: { lost: 0.25, delayed: 0.35 },
  async play(stage) {
    const head = await stage.owned();
    const numbers = [1, 2, 3, 4];
    stage.actor('owner', async (hand) => {
      for (const number of numbers) {
        const item = itemOf({ ...head, commitNumber: number - 1 }, { ...row(head, number), events: [event], cursor: { number } });
        const outcome = await commit(hand, item);
        expectIn(this.name, passed(outcome), { number, outcome });
      }
    });
    await stage.curtain();
    const { commit_number, sequence, cursor } = await headOf(stage, head.id);
    const rows = await rowsOf(stage, head.id);
    expectIn(this.name, rows.join() === numbers.join() && commit_number === 4 && sequence === 5 && cursor.number === 4, { rows, commit_number, sequence, cursor });
  },
};

const takeover: Scene = {
  name: 'an owner that goes on while another takes its work',
  weather: { delayed: 0.25 },
  async play(stage) {
    const head = await stage.owned('n1');
    const said: { claim: string; number: number }[] = [];
    const work = async (hand: Hand, mine: Head): Promise<void> => {
      for (let n = mine.commitNumber; n < mine.commitNumber + 3; n += 1) {
        const outcome = await commit(hand, itemOf({ ...mine, commitNumber: n }, { ...row(mine, n), events: [event] }));
        if (!passed(outcome)) return;
        said.push({ claim: mine.claimId, number: n });
      }
    };
    stage.actor('n1', (hand) => work(hand, head));
    stage.actor('n2', async (hand) => {
      const { storage } = hand;
      for (let tries = 0; tries < 3; tries += 1) {
        await untilAnswered(() => releaseAll(storage.pool, stage.nodeName('n1'), '1'));
        const [mine] = await untilAnswered(() => stage.claim('n2', storage.pool));
        if (mine) return work(hand, mine);
      }
    });
    await stage.curtain();
    const events = await stage.ask<{ claim_id: string; commit_number: number }>(
      'select claim_id, commit_number from execution_event where execution_id = $1 and claim_id is not null order by sequence',
      [head.id],
    );
    const claims = events.map(({ claim_id }) => claim_id).filter((claim, index, all) => all[index - 1] !== claim);
    expectIn(this.name, new Set(claims).size === claims.length && events.every(({ commit_number }, index) => commit_number === index + 1), { events });
    expectIn(
      this.name,
      said.every(({ claim, number }) => events.some((stored) => stored.claim_id === claim && stored.commit_number === number + 1)),
      { said, events },
    );
    expectIn(this.name, (await rowsOf(stage, head.id)).length === events.length, { rows: await rowsOf(stage, head.id) });
  },
};

const takers: Scene = {
  name: 'two nodes that take over from a third',
  async play(stage) {
    const head = await stage.owned('n1');
    const claimed: Head[] = [];
    for (const node of ['n2', 'n3'])
      stage.actor(node, async ({ storage }) => {
        await untilAnswered(() => releaseAll(storage.pool, stage.nodeName('n1'), '1'));
        // A claim whose answer was lost is not repeated: what it took is an orphan.
        claimed.push(...(await stage.claim(node, storage.pool).catch(() => [])));
      });
    await stage.curtain();
    const { stalls, generation, owner } = await headOf(stage, head.id);
    expectIn(this.name, stalls <= 1 && claimed.length <= 1 && generation <= 2 && (owner === null || claimed.every(({ claimId }) => claimId !== null)), {
      stalls,
      generation,
      owner,
      claimed: claimed.length,
    });
  },
};

const manyHeads: Scene = {
  name: 'whoever touches several heads takes them in one order',
  async play(stage) {
    const heads: Head[] = [];
    for (let index = 0; index < 3; index += 1) heads.push(await stage.owned());
    const ids = heads.map(({ id }) => id);
    const outcomes: (string | undefined)[] = [];
    stage.actor('batch', async ({ storage }) => {
      const items = [heads[2]!, heads[0]!, heads[1]!].map((head) => itemOf(head, row(head, 1)));
      const answers = await untilAnswered(() => commitBatch(storage.pool, items));
      outcomes.push(...ids.map((id) => answers.get(id)?.outcome));
    });
    for (const person of ['first', 'second'])
      stage.actor(person, async ({ within, random }) => {
        const mine = [...ids].sort(() => random() - 0.5).slice(0, 2);
        await untilAnswered(() =>
          within(async (tx) => {
            await lockHeads(tx, mine);
            for (const id of mine) await sendSignal(tx, id, { name: person, number: 1 });
          }),
        );
      });
    await stage.curtain();
    expectIn(this.name, outcomes.every(passed), { outcomes });
    for (const id of ids) expectIn(this.name, (await rowsOf(stage, id)).join() === '1', { id });
  },
};

const savedResult: Scene = {
  name: 'a takeover of work whose calls are answered',
  async play(stage) {
    const head = await stage.owned('n1');
    const other = { ...call, step: 2 };
    const started = [
      { ...opened, to: 'sending' },
      { ...opened, ...other, to: 'sending' },
    ];
    await commitBatch(stage.lane.superuser, [itemOf(head, { calls: started })]);
    await commitBatch(stage.lane.superuser, [itemOf({ ...head, commitNumber: 1 }, { calls: [{ ...call, move: ['sending'], to: 'succeeded', result: 'AAAA' }] })]);
    let saved = false;
    stage.actor(
      'n1',
      async (hand) =>
        void (saved = passed(await commit(hand, itemOf({ ...head, commitNumber: 2 }, { calls: [{ ...other, move: ['sending'], to: 'succeeded', result: 'AAAA' }] })))),
    );
    stage.actor('n2', async (hand) => {
      await untilAnswered(() => releaseAll(hand.storage.pool, stage.nodeName('n1'), '1'));
      const [mine] = await stage.claim('n2', hand.storage.pool).catch(() => []);
      if (!mine) return;
      const { calls } = await load(hand, stage, head.id);
      const open = calls.filter(({ state }) => state === 'sending').map(({ step, name, attempt }) => ({ step, name, attempt, move: ['sending'], to: 'unknown' }));
      if (open.length > 0) await commit(hand, itemOf(mine, { calls: open }));
    });
    await stage.curtain();
    const states = (await stage.ask<{ state: string }>('select state from execution_call where execution_id = $1 order by step', [head.id])).map(({ state }) => state);
    // After a takeover a refused resend says nothing of the send before it.
    expectIn(this.name, states[0] === 'succeeded' && (!saved || states[1] === 'succeeded'), { states, saved });
  },
};

const permitted: Scene = {
  name: 'a takeover of work whose call holds the one place of a limit',
  async play(stage) {
    const first = await stage.owned('n1');
    const second = await stage.owned('n3');
    const intent = { ...opened, limited: true as const, to: 'intent' };
    for (const head of [first, second]) await commitBatch(stage.lane.superuser, [itemOf(head, { calls: [intent] })]);
    const gate = { ...call, move: ['intent'], to: 'sending', limited: true as const, gate: { permit: { limit: 'outside', size: 1, timeoutMs: 3_600_000 } } };
    const pass = (head: Head) => async (hand: Hand) => void (await commit(hand, itemOf({ ...head, commitNumber: 1 }, { calls: [gate] })));
    stage.actor('n1', pass(first));
    stage.actor('n3', pass(second));
    stage.actor('n2', async ({ storage }) => {
      for (let tries = 0; tries < 3; tries += 1) await untilAnswered(() => releaseAll(storage.pool, stage.nodeName('n1'), '1'));
      await stage.claim('n2', storage.pool).catch(() => undefined);
    });
    await stage.curtain();
    const sending = await stage.ask(`select 1 from execution_call where organization_id = $1 and state = 'sending'`, [stage.tenant.organizationId]);
    const held = await stage.ask(`select 1 from permit where organization_id = $1 and state = 'held'`, [stage.tenant.organizationId]);
    expectIn(this.name, sending.length <= 1 && held.length === sending.length, { sending: sending.length, held: held.length });
  },
};

export const owningScenes: readonly Scene[] = [resend, takeover, takers, manyHeads, savedResult, permitted];
