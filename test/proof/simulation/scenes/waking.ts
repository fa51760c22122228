import { commitBatch, itemOf } from '@test/integration/engine/by-hand.js';
import { requestCancel, sendSignal } from '@engine/executions.js';
import { expectIn, untilAnswered, type Scene } from '../stage.js';
import { claimed, commit, headOf, read, passed, wait } from './acting.js';

const signalAndWait: Scene = {
  name: 'a signal in the instant of a wait',
  async play(stage) {
    const head = await stage.owned();
    stage.actor('owner', async (hand) => void (await commit(hand, itemOf(head, wait(0)))));
    stage.actor('sender', async ({ within }) => void (await untilAnswered(() => within((tx) => sendSignal(tx, head.id, { name: 'go', number: 1 })))));
    await stage.curtain();
  },
};

const signalAndClaim: Scene = {
  name: 'a signal between a claim and what the new owner reads',
  weather: { lost: 0, delayed: 0 },
  async play(stage) {
    const id = await stage.admit();
    for (const number of [1, 2]) stage.actor(`sender${number}`, async ({ within }) => void (await untilAnswered(() => within((tx) => sendSignal(tx, id, { name: 'go', number })))));
    stage.actor('owner', async (hand) => {
      let head = await claimed(stage, hand);
      for (;;) {
        const { head: stored, signals } = await read(hand, stage, id);
        head = { ...head, commitNumber: stored!.commitNumber };
        const outcome = await commit(hand, itemOf(head, { ...wait(stored!.signalCount), consume: signals.map(({ name, number }) => ({ name, number })) }));
        if (passed(outcome)) return;
      }
    });
    await stage.curtain();
  },
};

const endings: Scene = {
  name: 'an end, a cancel and a signal',
  async play(stage) {
    const head = await stage.owned();
    let outcome: string | undefined;
    stage.actor('owner', async (hand) => void (outcome = await commit(hand, itemOf(head, { to: 'completed', do: 'end', seen: 0 }))));
    stage.actor('canceller', async ({ within }) => void (await untilAnswered(() => within((tx) => requestCancel(tx, head.id)))));
    stage.actor('sender', async ({ within }) => void (await untilAnswered(() => within((tx) => sendSignal(tx, head.id, { name: 'go', number: 1 })))));
    await stage.curtain();
    const { state, cancel_number, owner, signal_count } = await headOf(stage, head.id);
    const ended = state === 'completed' && cancel_number === 0 && owner === null && passed(outcome);
    const goesOn = (state === 'cancelling' || state === 'running') && owner !== null && outcome === 'refused' && (state === 'cancelling') === cancel_number > 0;
    expectIn(this.name, ended || goesOn, { outcome, state, cancel_number, owner, signal_count });
  },
};

const longClaim: Scene = {
  name: 'a timer that falls due while a claim is under way',
  weather: { cut: 1, split: 0.7, lost: 0, delayed: 0 },
  async play(stage) {
    const head = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(head, { ...wait(0), until: '2100-01-01T00:00:00Z' })]);
    const claims: { due: boolean }[] = [];
    const text = `select c.claimed_at >= (c.head).wait_until as due from claim_executions(array['${head.workflow}:1'], '${stage.nodeName('n2')}', 1, 10, false) c`;
    stage.actor('owner', async ({ storage }) => {
      for (let tries = 0; tries < 5; tries += 1) claims.push(...((await storage.query({ text })).rows as typeof claims));
    });
    const due = 'update execution set runnable_at = clock_timestamp(), wait_until = clock_timestamp() where id = $1 and owner is null';
    await stage.curtain({ label: 'the time comes', take: () => stage.ask(due, [head.id]) });
    expectIn(
      this.name,
      claims.every((claim) => claim.due),
      { claims },
    );
  },
};

const cancelAndClaim: Scene = {
  name: 'a cancel in the instant of a claim',
  async play(stage) {
    const head = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(head, wait(0))]);
    stage.actor('canceller', async ({ within }) => void (await untilAnswered(() => within((tx) => requestCancel(tx, head.id)))));
    stage.actor('owner', async ({ storage }) => {
      for (let tries = 0; tries < 3; tries += 1) await stage.claim('n2', storage.pool).catch(() => undefined);
    });
    await stage.curtain();
    const { state, cancel_number } = await headOf(stage, head.id);
    expectIn(this.name, state === 'cancelling' && cancel_number >= 1, { state, cancel_number });
  },
};

const clockStep: Scene = {
  name: 'a clock that steps back after a signal',
  async play(stage) {
    const head = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(head, wait(0))]);
    stage.actor('sender', async ({ within }) => void (await untilAnswered(() => within((tx) => sendSignal(tx, head.id, { name: 'go', number: 1 })))));
    await stage.curtain();
    await stage.ask(`update execution set runnable_at = runnable_at + interval '1 hour' where id = $1`, [head.id]);
    const claimed = await stage.claim('n2', stage.lane.superuser);
    expectIn(this.name, claimed.length === 1, { claimed });
  },
};

export const wakingScenes: readonly Scene[] = [signalAndWait, signalAndClaim, endings, longClaim, cancelAndClaim, clockStep];
