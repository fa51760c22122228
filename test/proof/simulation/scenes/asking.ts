import { commitBatch, itemOf, releaseAll } from '@test/integration/engine/by-hand.js';
import { admitExecution, settleCommand, takeCommand } from '@engine/admit.js';
import { requestCancel } from '@engine/executions.js';
import { expectIn, untilAnswered, type Scene } from '../stage.js';
import { call, commit, event, headOf, load, opened, passed } from './acting.js';

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

const usage = { provider: 'outside', model: 'outside', source: 'reply', status: 'confirmed', inputTokens: 1, outputTokens: 1 };
const reply = JSON.stringify({ ...call, move: ['sending'], to: 'succeeded', result: 'AAAA', usage });

const lateReply: Scene = {
  name: 'a late reply, a new owner and a decision',
  async play(stage) {
    const head = await stage.owned('n1');
    await commitBatch(stage.lane.superuser, [itemOf(head, { calls: [{ ...opened, to: 'sending' }] })]);
    const { organizationId, projectId } = stage.tenant;
    const late = { text: 'select late_result($1, $2, $3, $4::jsonb) as outcome', values: [organizationId, projectId, head.id, reply] };
    const said: string[] = [];
    stage.actor('sender', async ({ storage, random }) => {
      // How late, the seed says.
      for (let turns = Math.floor(random() * 16); turns > 0; turns -= 1) await untilAnswered(() => storage.query({ text: 'select name from node' }));
      said.push(((await untilAnswered(() => storage.query(late))).rows[0] as { outcome: string }).outcome);
    });
    stage.actor('n2', async (hand) => {
      await untilAnswered(() => releaseAll(hand.storage.pool, stage.nodeName('n1'), '1'));
      const [mine] = await stage.claim('n2', hand.storage.pool).catch(() => []);
      if (!mine) return;
      for (let tries = 0; tries < 3; tries += 1) {
        const { head: stored, calls } = await load(hand, stage, head.id);
        if (calls[0]?.state !== 'sending') return;
        const unknown = { calls: [{ ...call, move: ['sending'], to: 'unknown' }], to: 'outcome_unknown' as const, do: 'wait' as const, until: null, seen: stored!.signalCount };
        if (passed(await commit(hand, itemOf(mine, unknown)))) return;
      }
    });
    stage.actor('decider', async ({ within }) => {
      for (let tries = 0; tries < 8; tries += 1) await untilAnswered(() => within((tx) => tx.query(`select decide_call($1, 1, 'call', 1, 'retry', null)`, [head.id])));
    });
    await stage.curtain();
    const [stored] = await stage.ask<{ state: string; decided: string | null; late: boolean }>('select state, decided, late from execution_call where execution_id = $1', [
      head.id,
    ]);
    const used = await stage.ask('select 1 from usage_entry where execution_id = $1', [head.id]);
    // A decision that was made before it stands; else the result is the call's. Either way it was told, and counted once.
    const { state, decided, late: isLate } = stored!;
    expectIn(this.name, used.length === 1 && isLate && (decided === null ? state === 'succeeded' : state === 'unknown' && !said.includes('stored')), {
      stored,
      used: used.length,
      said,
    });
  },
};

export const askingScenes: readonly Scene[] = [gate, decisions, commands, lateReply];
