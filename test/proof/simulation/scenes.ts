import { commitBatch, itemOf, releaseAll } from '@test/integration/engine/by-hand.js';
import { admitExecution, settleCommand, takeCommand } from '@engine/admit.js';
import type { CommitItem } from '@engine/commit-item.js';
import { lockHeads, requestCancel, sendSignal } from '@engine/executions.js';
import type { LoadedWork } from '@engine/fiber.js';
import type { Head } from '@engine/head.js';
import { expectIn, untilAnswered, type Hand, type Scene, type Stage } from './stage.js';

const wait = (seen: number): Partial<CommitItem> => ({ to: 'waiting', do: 'wait', until: null, seen });
const row = (head: Head, number: number): Partial<CommitItem> => ({ feature: 'probe', aggregate: head.subjectId ?? '', rows: { number } });
const event = { t: 'Text', step: 1, attempt: 1, b: 'AAAA' };
const call = { step: 1, name: 'call', attempt: 1 };
const opened = { ...call, kind: 'test', safety: 'unproven' as const, key: 'key' };

/** One commit as the committer sends it: the same bytes until a row answers. */
const commit = ({ storage }: Hand, item: CommitItem) => untilAnswered(async () => (await commitBatch(storage.pool, [item])).get(item.id)?.outcome);
const passed = (outcome: string | undefined): boolean => outcome === 'applied' || outcome === 'already';

async function load({ storage }: Hand, stage: Stage, id: string): Promise<LoadedWork> {
  const { organizationId, projectId } = stage.tenant;
  const { rows } = await untilAnswered(() => storage.query({ text: 'select load_work($1, $2, $3) as work', values: [organizationId, projectId, id] }));
  return (rows[0] as { work: LoadedWork }).work;
}

/** Work that somebody holds is skipped: the next claim finds it. */
async function claimed(stage: Stage, { storage }: Hand): Promise<Head> {
  for (;;) {
    const [head] = await stage.claim('n1', storage.pool);
    if (head) return head;
  }
}

const headOf = async (stage: Stage, id: string) => (await stage.ask('select * from execution where id = $1', [id]))[0]!;
const rowsOf = async (stage: Stage, id: string): Promise<number[]> =>
  (await stage.ask<{ number: number }>('select number from probe_row where execution_id = $1 order by 1', [id])).map(({ number }) => number);

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
        const { head: stored, signals } = await load(hand, stage, id);
        head = { ...head, commitNumber: stored!.commitNumber };
        const outcome = await commit(hand, itemOf(head, { ...wait(stored!.signalCount), consume: signals.map(({ name, number }) => ({ name, number })) }));
        if (passed(outcome)) return;
      }
    });
    await stage.curtain();
  },
};

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

const gate: Scene = {
  name: 'a cancel that was accepted precedes every later send',
  async play(stage) {
    const head = await stage.owned();
    let sent = false;
    stage.actor('owner', async (hand) => {
      if (!passed(await commit(hand, itemOf(head, { calls: [{ ...opened, to: 'intent' }] })))) return;
      sent = passed(await commit(hand, itemOf({ ...head, commitNumber: 1 }, { events: [event], calls: [{ ...call, move: ['intent'], to: 'sending' }] })));
    });
    stage.actor('canceller', async ({ within }) => void (await untilAnswered(() => within((tx) => requestCancel(tx, head.id)))));
    await stage.curtain();
    const log = (
      await stage.ask<{ type: string }>('select type from execution_event where execution_id = $1 and (claim_id is not null or state = $2) order by sequence', [
        head.id,
        'cancelling',
      ])
    ).map(({ type }) => type);
    const { state, cancel_number } = await headOf(stage, head.id);
    expectIn(this.name, log.join() === (sent ? 'Text,State' : 'State') && state === 'cancelling' && cancel_number >= 1, { sent, log, state, cancel_number });
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

const decisions: Scene = {
  name: 'two decisions and a cancel about one unknown call',
  async play(stage) {
    const head = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(head, { calls: [{ ...opened, to: 'sending' }] })]);
    await commitBatch(stage.lane.superuser, [
      itemOf({ ...head, commitNumber: 1 }, { calls: [{ ...call, move: ['sending'], to: 'unknown' }], to: 'outcome_unknown', do: 'wait', until: null, seen: 0 }),
    ]);
    const accepted: string[] = [];
    for (const decision of ['stop', 'retry'])
      stage.actor(decision, async ({ within }) => {
        const decide = () =>
          within(async (tx) => (await tx.query<{ decided: boolean }[]>(`select decide_call($1, 1, 'call', 1, $2, null) as decided`, [head.id, decision]))[0]!.decided);
        if (await untilAnswered(decide)) accepted.push(decision);
      });
    stage.actor('canceller', async ({ within }) => void (await untilAnswered(() => within((tx) => requestCancel(tx, head.id)))));
    await stage.curtain();
    const { state, signal_count, cancel_number } = await headOf(stage, head.id);
    const [stored] = await stage.ask<{ decided: string }>('select decided from execution_call where execution_id = $1', [head.id]);
    const holds =
      accepted.length <= 1 &&
      accepted.every((decision) => decision === stored?.decided) &&
      stored?.decided !== null &&
      state === 'outcome_unknown' &&
      signal_count === 1 + cancel_number;
    expectIn(this.name, holds, { accepted, stored, state, signal_count, cancel_number });
  },
};

const commands: Scene = {
  name: 'one command under one key, sent again and again',
  weather: { lost: 0.25, delayed: 0.2 },
  async play(stage) {
    const command = { scopeId: stage.id(0xd0), key: 'key', keyMac: Buffer.from('key'), inputMac: Buffer.from('input') };
    const receipts: (string | null)[] = [];
    for (const index of [1, 2])
      stage.actor(`caller${index}`, async ({ within }) => {
        for (let times = 0, tries = 0; times < 2; tries += 1) {
          const receipt = await untilAnswered(() =>
            within(async (tx) => {
              const taken = await takeCommand<{ id: string }>(tx, command);
              if (!taken.ok) throw new Error('the same key with another input');
              if (taken.value) return taken.value.id;
              const id = stage.id(0x100 * index + tries);
              await admitExecution(tx, {
                id,
                context: stage.tenant,
                workflow: `scene${stage.seed}`,
                version: 1,
                cursor: {},
                subjectId: null,
                identityId: null,
                memberId: null,
                ready: true,
              });
              return (await settleCommand(tx, command, { id })).id;
            }),
          );
          receipts.push(receipt);
          times += 1;
        }
      });
    await stage.curtain();
    const admitted = await stage.ask<{ id: string }>('select id from execution where organization_id = $1', [stage.tenant.organizationId]);
    expectIn(this.name, admitted.length === 1 && receipts.every((id) => id === admitted[0]?.id), { admitted, receipts });
  },
};

const longClaim: Scene = {
  name: 'a timer that falls due while a claim is under way',
  weather: { cut: 1, lost: 0, delayed: 0 },
  async play(stage) {
    const head = await stage.owned();
    await commitBatch(stage.lane.superuser, [itemOf(head, { ...wait(0), until: '2100-01-01T00:00:00Z' })]);
    const claims: { claimed_at: Date; wait_until: Date }[] = [];
    stage.actor('owner', async ({ storage }) => {
      for (let tries = 0; tries < 4; tries += 1)
        claims.push(
          ...((
            await storage.query({ text: `select c.claimed_at, (c.head).wait_until from claim_executions(array['${head.workflow}:1'], '${stage.nodeName('n2')}', 1, 10, false) c` })
          ).rows as typeof claims),
        );
    });
    const due = 'update execution set runnable_at = clock_timestamp(), wait_until = clock_timestamp() where id = $1 and owner is null';
    await stage.curtain({ label: 'the time comes', take: () => stage.ask(due, [head.id]) });
    expectIn(
      this.name,
      claims.every(({ claimed_at, wait_until }) => claimed_at >= wait_until),
      { claims },
    );
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

export const scenes: readonly Scene[] = [signalAndWait, signalAndClaim, resend, takeover, gate, endings, manyHeads, decisions, commands, longClaim, clockStep, takers];
