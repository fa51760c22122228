import { commitBatch, itemOf } from '@test/integration/engine/by-hand.js';
import { lockHeads, requestCancel } from '@engine/executions.js';
import type { Head } from '@engine/head.js';
import { expectIn, untilAnswered, type Hand, type Scene, type Stage } from '../stage.js';
import { commit, headOf, load, passed } from './acting.js';

const child = (stage: Stage, index: number) => ({
  id: stage.id(0x500 + index),
  attached: true,
  workflow: `scene${stage.seed}`,
  version: 1,
  cursor: {},
  subject: null,
  identity: null,
  ready: true,
});

/** A child's end, as its writer makes it: with its parent's head, by id, in one transaction. */
const endOf = ({ within }: Hand, head: Head, parent: string): Promise<string | null> =>
  untilAnswered(() =>
    within(async (tx) => {
      const item = itemOf(head, { to: 'completed', do: 'end', seen: 0, parent, notice: Buffer.from('notice').toString('base64') });
      await lockHeads(tx, [head.id, parent]);
      const [fence] = (await tx.query('select commit_fence(x, $2::jsonb) as outcome from execution x where x.id = $1', [head.id, item])) as { outcome: string | null }[];
      if (fence?.outcome) return fence.outcome;
      const [done] = (await tx.query('select o_outcome as outcome from commit_one($1::jsonb)', [item])) as { outcome: string }[];
      return done?.outcome ?? null;
    }),
  );

const cancelAndBirth: Scene = {
  name: 'a cancel while attached work is admitted below',
  async play(stage) {
    const parent = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(parent, { children: [child(stage, 1)] })]);
    stage.actor('owner', async (hand) => {
      for (const index of [2, 3]) if (!passed(await commit(hand, itemOf({ ...parent, commitNumber: index - 1 }, { children: [child(stage, index)] })))) return;
    });
    stage.actor('canceller', async ({ within }) => void (await untilAnswered(() => within((tx) => requestCancel(tx, parent.id)))));
    await stage.curtain();
    const family = await stage.ask<{ id: string; cancel_number: number; state: string }>('select id, cancel_number, state from execution where parent_id = $1', [parent.id]);
    expectIn(this.name, family.length > 0 && family.every(({ cancel_number, state }) => cancel_number > 0 && state === 'cancelling'), { family });
  },
};

const lastChild: Scene = {
  name: 'a parent that ends while its last child does',
  async play(stage) {
    const parent = await stage.owned();
    await commitBatch(stage.lane.superuser, [
      itemOf(parent, {
        children: [
          { ...child(stage, 1), workflow: parent.workflow },
          { ...child(stage, 2), workflow: parent.workflow },
        ],
      }),
    ]);
    const children = await stage.claim('n2', stage.lane.superuser);
    for (const [index, head] of children.entries())
      stage.actor(`child${index + 1}`, async (hand) => {
        const outcome = await endOf(hand, head, parent.id);
        expectIn(this.name, passed(outcome ?? undefined), { outcome });
      });
    let outcome: string | undefined;
    stage.actor('parent', async (hand) => {
      for (let tries = 0; tries < 4 && !passed(outcome); tries += 1) {
        const { head } = await load(hand, stage, parent.id);
        outcome = await commit(hand, itemOf({ ...parent, commitNumber: 1 }, { to: 'completed', do: 'end', seen: head!.signalCount }));
      }
    });
    await stage.curtain();
    const { state, open_children, signal_count } = await headOf(stage, parent.id);
    const told = await stage.ask('select 1 from execution_signal where execution_id = $1', [parent.id]);
    expectIn(this.name, open_children === 0 && told.length === 2 && signal_count === 2 && (state === 'completed') === passed(outcome), {
      state,
      open_children,
      signal_count,
      outcome,
    });
  },
};

const twoCancels: Scene = {
  name: 'cancels of a parent and of its child, and the end of another child',
  async play(stage) {
    const parent = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(parent, { children: [child(stage, 1), { ...child(stage, 2), workflow: parent.workflow }] })]);
    const [owned] = await stage.claim('n2', stage.lane.superuser);
    const other = child(stage, 1).id;
    for (const id of [parent.id, other])
      stage.actor(`canceller of ${id === other ? 'the child' : 'the parent'}`, async ({ within }) => void (await untilAnswered(() => within((tx) => requestCancel(tx, id)))));
    stage.actor('child', async (hand) => void (await endOf(hand, owned!, parent.id)));
    await stage.curtain();
    const [asked, ended] = [await headOf(stage, other), await headOf(stage, owned!.id)];
    expectIn(this.name, asked.state === 'cancelling' && asked.cancel_number >= 2 && (ended.state === 'completed' || ended.cancel_number > 0), { asked, ended });
  },
};

export const familyScenes: readonly Scene[] = [cancelAndBirth, lastChild, twoCancels];
