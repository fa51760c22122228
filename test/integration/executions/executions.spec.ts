import { v7 as uuidv7 } from 'uuid';
import type { Hint } from '@engine/wake-channel.js';
import { WakeChannel } from '@engine/wake-channel.js';
import type { Identity } from '@platform/identity/identity.js';
import { toPublicId } from '@platform/ids/typeid.js';
import type { Caller, TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { identityOf, pathOf, startExecutionApp } from './execution-app.js';
import { text, type StoredWork } from './stored-work.js';

let database: TestDatabase;
let app: TestApp;
let work: StoredWork;
let owner: Caller;
let who: Identity;
const hints: Hint[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  ({ app, work } = await startExecutionApp(database, { WAKE: 'none' }));
  owner = await app.createTenant();
  who = await identityOf(owner);
  app.nest.get(WakeChannel).subscribe((hint) => hints.push(hint));
});
afterAll(async () => {
  await app.close();
  await database.close();
});

const publicId = (id: string): string => toPublicId('execution', id);

type CallSeed = { readonly step: number; readonly name: string; readonly attempt: number; readonly state: string };
const storeCall = (id: string, { step, name, attempt, state }: CallSeed): Promise<unknown> =>
  work.write(who, (tx) =>
    tx.query(
      `insert into execution_call (execution_id, organization_id, project_id, step, name, attempt, generation, kind, safety, provider_key, state, input)
       values ($1, $2, $3, $4, $5, $6, 1, 'tool', 'unproven', 'provider-key-1', $7, $8)`,
      [id, who.context.organizationId, who.context.projectId, step, name, attempt, state, Buffer.from('sealed input')],
    ),
  );
const rowOf = async (table: 'execution' | 'execution_call', id: string): Promise<Record<string, unknown>> =>
  work.write(
    who,
    async (tx) => ((await tx.query(`select * from ${table} where ${table === 'execution' ? 'id' : 'execution_id'} = $1`, [id])) as Record<string, unknown>[])[0] ?? {},
  );

describe('GET /v1/executions/:id', () => {
  test('200: a turn names its chat and its turn; times are milliseconds', async () => {
    const [chat, turn] = [uuidv7(), uuidv7()];
    const id = await work.admit(who, { workflow: 'turn', subjectId: chat, cursor: { turnId: turn } });
    const { status, body } = await owner.call('GET', pathOf(id));
    expect(status).toBe(200);
    expect(body).toEqual({
      id: publicId(id),
      workflow: 'turn',
      state: 'queued',
      generation: 0,
      sequence: 1,
      chat: toPublicId('chat', chat),
      turn: toPublicId('turn', turn),
      parent: null,
      createdAt: expect.any(Number),
      startedAt: null,
      endedAt: null,
      failure: null,
    });
    expect(Math.abs((body['createdAt'] as number) - Date.now())).toBeLessThan(60_000);
  });

  test('200: other work has no chat; a failure shows its category and its id', async () => {
    const errorId = uuidv7();
    const id = await work.admit(who, { subjectId: uuidv7() });
    await work.end(who, id, 'failed');
    await work.write(who, (tx) => tx.query(`update execution set failure_category = 'crashes', error_id = $2 where id = $1`, [id, errorId]));
    const { body } = await owner.call('GET', pathOf(id));
    expect(body).toMatchObject({ workflow: 'probe', state: 'failed', chat: null, turn: null, sequence: 2, endedAt: expect.any(Number) });
    expect(body['failure']).toEqual({ category: 'crashes', errorId: toPublicId('error', errorId) });
  });

  test('401: no token, no answer', async () => {
    expect((await app.as(null)('GET', pathOf(uuidv7()))).status).toBe(401);
  });
});

describe('what the caller may not know of', () => {
  test('404: missing, malformed, foreign, a colleague’s and a service’s are one and the same on every route', async () => {
    const [member, stranger] = [await app.createMember(owner), await app.createTenant()];
    const unseen = [uuidv7(), await work.admit(await identityOf(member)), await work.admit(await identityOf(stranger)), await work.admit(who, { memberId: null })].map(publicId);
    const malformed = ['exec_x', 'x', publicId(uuidv7()).toUpperCase(), toPublicId('chat', uuidv7()), uuidv7(), `${publicId(uuidv7())}0`, '%F0%9F%98%80'];
    const routes = [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/wait?timeoutMs=0'],
      ['GET', '/observe'],
      ['GET', '/calls'],
      ['POST', '/cancel', { commandKey: 'a' }],
      ['POST', '/decisions', { commandKey: 'a', call: '1.tool:0.1', decision: 'stop' }],
    ] as const;
    const texts = new Set<string>();
    for (const [method, rest, body] of routes) {
      for (const id of [...unseen, ...malformed]) {
        const answer = await owner.call(method, `/v1/executions/${id}${rest}`, body);
        expect([answer.status, id, rest]).toEqual([404, id, rest]);
        texts.add(answer.text);
      }
    }
    expect([...texts]).toEqual([JSON.stringify({ _tag: 'ExecutionNotFound', message: 'You have no execution with this ID.' })]);
  });
});

describe('GET …/calls', () => {
  test('200: each attempt, its usage, in pages, without contents', async () => {
    const id = await work.admit(who);
    await storeCall(id, { step: 1, name: 'model', attempt: 1, state: 'failed' });
    await storeCall(id, { step: 1, name: 'model', attempt: 2, state: 'succeeded' });
    await storeCall(id, { step: 2, name: 'tool:0', attempt: 1, state: 'unknown' });
    await work.write(who, (tx) =>
      tx.query(
        `insert into usage_entry (execution_id, step, name, attempt, organization_id, project_id, source, provider, model, status, input_tokens, output_tokens, cached_input_tokens)
         values ($1, 1, 'model', 2, $2, $3, 'chat', 'development', 'mock-text', 'confirmed', 12, 5000000000, 3)`,
        [id, who.context.organizationId, who.context.projectId],
      ),
    );
    const first = await owner.call('GET', pathOf(id, '/calls?limit=2'));
    expect(first.status).toBe(200);
    expect(first.body['next']).toBe('1.model.2');
    const rest = await owner.call('GET', pathOf(id, `/calls?limit=2&after=1.model.2`));
    const calls = [...(first.body['items'] as object[]), ...(rest.body['items'] as object[])];
    expect(rest.body['next']).toBeNull();
    expect(calls).toHaveLength(3);
    expect(calls[1]).toEqual({
      id: '1.model.2',
      step: 1,
      name: 'model',
      attempt: 2,
      kind: 'tool',
      safety: 'unproven',
      state: 'succeeded',
      late: false,
      decided: null,
      failure: null,
      usage: {
        status: 'confirmed',
        provider: 'development',
        model: 'mock-text',
        inputTokens: 12,
        outputTokens: 5_000_000_000,
        cachedInputTokens: 3,
        cacheWriteTokens: null,
        reasoningTokens: null,
      },
      createdAt: expect.any(Number),
      endedAt: null,
    });
    expect(calls[2]).toMatchObject({ id: '2.tool:0.1', state: 'unknown', usage: null });
    expect(first.text + rest.text).not.toMatch(/sealed|input"|provider-key/);
  });

  test.each([
    ['latest=true', ['1.model.2', '1.tool:0.1', '2.model.1']],
    ['step=1', ['1.model.1', '1.model.2', '1.tool:0.1']],
    ['name=model', ['1.model.1', '1.model.2', '2.model.1']],
    ['step=1&name=model&latest=true', ['1.model.2']],
    ['name=model&latest=true&limit=1&after=1.model.2', ['2.model.1']],
    ['latest=false&step=3', []],
  ])('200: %s', async (query, ids) => {
    const id = await work.admit(who);
    await storeCall(id, { step: 1, name: 'model', attempt: 1, state: 'failed' });
    await storeCall(id, { step: 1, name: 'model', attempt: 2, state: 'succeeded' });
    await storeCall(id, { step: 1, name: 'tool:0', attempt: 1, state: 'succeeded' });
    await storeCall(id, { step: 2, name: 'model', attempt: 1, state: 'sending' });
    const { status, body } = await owner.call('GET', pathOf(id, `/calls?${query}`));
    expect([status, (body['items'] as { id: string }[]).map((call) => call.id)]).toEqual([200, ids]);
  });

  test.each(['after=x', 'after=1.model.99999999999', 'after=', 'limit=0', 'limit=101', 'limit=x', 'before=1.model.1', 'step=-1', 'step=x', 'name=', 'latest=1'])(
    '400: %s',
    async (query) => {
      const id = await work.admit(who);
      const { status, body } = await owner.call('GET', pathOf(id, `/calls?${query}`));
      expect([status, body['_tag'], body['field']]).toEqual([400, 'InvalidInput', query.split('=')[0]]);
    },
  );
});

describe('POST …/cancel', () => {
  test('202: one cancel for twenty requests with the same key, and one wake', async () => {
    const id = await work.admit(who);
    hints.length = 0;
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.call('POST', pathOf(id, '/cancel'), { commandKey: 'stop' })));
    for (const answer of answers) expect([answer.status, answer.text]).toEqual([202, JSON.stringify({ executionId: publicId(id), commandKey: 'stop', sequence: 2 })]);
    expect(hints.filter((hint) => hint.includes(id))).toEqual([[id]]);
    expect(await rowOf('execution', id)).toMatchObject({ state: 'cancelling', cancel_number: 1, signal_count: 1, sequence: 2 });
    const again = await owner.call('POST', pathOf(id, '/cancel'), { commandKey: 'stop again' });
    expect(again.body).toMatchObject({ commandKey: 'stop again', sequence: 2 });
    expect(await rowOf('execution', id)).toMatchObject({ state: 'cancelling', cancel_number: 2, sequence: 2 });
  });

  test('202: what has ended stays as it is', async () => {
    const id = await work.admit(who);
    await work.end(who, id);
    const { status, body } = await owner.call('POST', pathOf(id, '/cancel'), { commandKey: 'late stop' });
    expect([status, body]).toEqual([202, { executionId: publicId(id), commandKey: 'late stop', sequence: 2 }]);
    expect(await rowOf('execution', id)).toMatchObject({ state: 'completed', cancel_number: 0, sequence: 2 });
  });

  test('202: the receipt again after the work is gone', async () => {
    const id = await work.admit(who);
    const first = await owner.call('POST', pathOf(id, '/cancel'), { commandKey: 'gone' });
    await work.write(who, (tx) => tx.query(`delete from execution where id = $1`, [id]));
    expect(await owner.call('POST', pathOf(id, '/cancel'), { commandKey: 'gone' })).toMatchObject({ status: 202, text: first.text });
  });

  test('409: the same key on other work', async () => {
    const [one, other] = [await work.admit(who), await work.admit(who)];
    await owner.call('POST', pathOf(one, '/cancel'), { commandKey: 'same' });
    const { status, body } = await owner.call('POST', pathOf(other, '/cancel'), { commandKey: 'same' });
    expect([status, body['_tag'], body['commandKey']]).toEqual([409, 'ExecutionKeyConflict', 'same']);
    expect(await rowOf('execution', other)).toMatchObject({ state: 'queued', cancel_number: 0 });
  });

  test.each([
    [{}, 'commandKey'],
    [{ commandKey: '' }, 'commandKey'],
    [{ commandKey: 1 }, 'commandKey'],
    [{ commandKey: 'k'.repeat(129) }, 'commandKey'],
    [{ commandKey: 'a', force: true }, 'force'],
  ])('400: %j', async (body, field) => {
    const id = await work.admit(who);
    const answer = await owner.call('POST', pathOf(id, '/cancel'), body);
    expect([answer.status, answer.body['_tag'], answer.body['field']]).toEqual([400, 'InvalidInput', field]);
    expect(await rowOf('execution', id)).toMatchObject({ state: 'queued' });
  });
});

describe('POST …/decisions', () => {
  const unknownCall = async (): Promise<string> => {
    const id = await work.admit(who);
    await work.append(who, id, text('before'));
    await work.write(who, (tx) => tx.query(`update execution set state = 'outcome_unknown' where id = $1`, [id]));
    await storeCall(id, { step: 2, name: 'tool:0', attempt: 1, state: 'unknown' });
    return id;
  };
  const decide = (id: string, body: object) => owner.call('POST', pathOf(id, '/decisions'), body);

  test('202: stop marks the call, sends one signal and wakes; both spellings of the call are the same input', async () => {
    const id = await unknownCall();
    hints.length = 0;
    const first = await decide(id, { commandKey: 'd-stop', call: '2.tool:0.1', decision: 'stop' });
    expect([first.status, first.body]).toEqual([202, { executionId: publicId(id), commandKey: 'd-stop', sequence: 2 }]);
    const again = await decide(id, { commandKey: 'd-stop', call: { attempt: 1, name: 'tool:0', step: 2 }, decision: 'stop' });
    expect(again.text).toBe(first.text);
    expect(await rowOf('execution_call', id)).toMatchObject({ state: 'unknown', decided: 'stop', result: null });
    expect(await rowOf('execution', id)).toMatchObject({ signal_count: 1 });
    expect(hints.filter((hint) => hint.includes(id))).toEqual([[id]]);
    const told = await work.write(who, (tx) => tx.query<unknown[]>(`select action, member_id, detail from audit_inbox where target_id = $1`, [id]));
    expect(told).toEqual([{ action: 'execution.decided', member_id: who.memberId, detail: { step: 2, attempt: 1, decision: 'stop' } }]);
  });

  test.each([[{ text: 'done', parts: [1, null, { deep: [true] }] }], ['text \u2028'], [0], [false], [null], [[]]])(
    '202: the result %j is sealed as a runner seals its own',
    async (result) => {
      const id = await unknownCall();
      expect((await decide(id, { commandKey: uuidv7(), call: '2.tool:0.1', decision: 'result', result })).status).toBe(202);
      const row = await rowOf('execution_call', id);
      expect(row).toMatchObject({ state: 'succeeded', decided: 'result' });
      const key = await work.sealer.keyOf(who.context.organizationId);
      const opened = key.open({ table: 'execution_call', record: `${id}:2:tool:0:1:result` }, row['result'] as Buffer);
      expect(JSON.parse(opened.toString('utf8'))).toEqual(result);
    },
  );

  test('409: the first decision stands', async () => {
    const id = await unknownCall();
    const answers = await Promise.all(['stop', 'retry'].map((decision) => decide(id, { commandKey: `race-${decision}`, call: '2.tool:0.1', decision })));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ _tag: 'CallConflict', state: 'unknown' });
    expect(await rowOf('execution', id)).toMatchObject({ signal_count: 1 });
    // The refused command was rolled back whole: its key is free.
    const lost = answers.findIndex(({ status }) => status === 409);
    expect((await decide(id, { commandKey: `race-${['stop', 'retry'][lost]}`, call: '2.tool:0.1', decision: 'stop' })).body['_tag']).toBe('CallConflict');
  });

  test('409: a call that is not unknown', async () => {
    const id = await work.admit(who);
    await storeCall(id, { step: 1, name: 'model', attempt: 1, state: 'sending' });
    const { status, body } = await decide(id, { commandKey: 'early', call: '1.model.1', decision: 'retry' });
    expect([status, body['_tag'], body['state']]).toEqual([409, 'CallConflict', 'sending']);
  });

  test('404: no such call', async () => {
    const id = await unknownCall();
    const { status, body } = await decide(id, { commandKey: 'none', call: '2.tool:0.2', decision: 'stop' });
    expect([status, body['_tag']]).toEqual([404, 'CallNotFound']);
  });

  test('409: the same key with another decision', async () => {
    const id = await unknownCall();
    await decide(id, { commandKey: 'd-key', call: '2.tool:0.1', decision: 'result', result: 1 });
    const { status, body } = await decide(id, { commandKey: 'd-key', call: '2.tool:0.1', decision: 'result', result: 2 });
    expect([status, body['_tag']]).toEqual([409, 'ExecutionKeyConflict']);
  });

  test.each([
    [{ call: '2.tool:0.1', decision: 'stop' }, 'commandKey'],
    [{ commandKey: 'b', decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: null, decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: '2', decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: { step: 2, name: 'tool:0' }, decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: { step: 2, name: 'tool:0', attempt: 1, more: 1 }, decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: { step: 2.5, name: 'tool:0', attempt: 1 }, decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: { step: 2, name: 'x'.repeat(201), attempt: 1 }, decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: ['2.tool:0.1'], decision: 'stop' }, 'call'],
    [{ commandKey: 'b', call: '2.tool:0.1' }, 'decision'],
    [{ commandKey: 'b', call: '2.tool:0.1', decision: 'approve' }, 'decision'],
    [{ commandKey: 'b', call: '2.tool:0.1', decision: 'result' }, 'result'],
    [{ commandKey: 'b', call: '2.tool:0.1', decision: 'stop', result: 1 }, 'result'],
    [{ commandKey: 'b', call: '2.tool:0.1', decision: 'result', result: 'x'.repeat(262_143) }, 'result'],
    [{ commandKey: 'b', call: '2.tool:0.1', decision: 'stop', why: 'x' }, 'why'],
  ])('400: case %#', async (body, field) => {
    const id = await unknownCall();
    const answer = await decide(id, body);
    expect([answer.status, answer.body['_tag'], answer.body['field']]).toEqual([400, 'InvalidInput', field]);
    expect(await rowOf('execution_call', id)).toMatchObject({ decided: null });
  });
});
