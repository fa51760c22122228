import { once } from 'node:events';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client } from 'pg';
import { hasEnded, type ExecutionState } from '@domain/executions/state.js';
import type { ExecutionEventBody } from '@domain/executions/events.js';
import { WakeChannel } from '@engine/wake-channel.js';
import type { Identity } from '@platform/identity/identity.js';
import type { Caller, TestApp } from '@test/support/app.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';
import { identityOf, pathOf, startExecutionApp } from './execution-app.js';
import { openSse, type Frame, type SseClient } from './sse-client.js';
import { text, type StoredWork } from './stored-work.js';

let database: TestDatabase;
let app: TestApp;
let work: StoredWork;
let wake: WakeChannel;
let owner: Caller;
let who: Identity;
let outside: Client;
const streams: SseClient[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
  ({ app, work } = await startExecutionApp(database));
  wake = app.nest.get(WakeChannel);
  owner = await app.createTenant();
  who = await identityOf(owner);
  outside = new Client({ connectionString: database.url });
  await outside.connect();
});
afterEach(() => streams.splice(0).forEach((stream) => stream.close()));
afterAll(async () => {
  await app.close();
  await outside.end();
  await database.close();
});

async function observe(id: string, query = '', headers: Record<string, string> = {}, token = owner.token): Promise<SseClient> {
  const stream = await openSse(`${app.url}${pathOf(id, `/observe${query}`)}`, token, headers);
  streams.push(stream);
  return stream;
}

const append = async (id: string, ...events: readonly ExecutionEventBody[]): Promise<number> => {
  const sequence = await work.append(who, id, ...events);
  wake.publish([id]);
  return sequence;
};
const end = async (id: string, state: 'completed' | 'failed' = 'completed'): Promise<number> => {
  const sequence = await work.end(who, id, state);
  wake.publish([id]);
  return sequence;
};
const textOf = (frames: readonly Frame[]): string =>
  frames
    .map(({ data }) => (JSON.parse(data) as { body: ExecutionEventBody }).body)
    .map((body) => (body._tag === 'Text' ? body.delta : ''))
    .join('');
const idsOf = (frames: readonly Frame[]): number[] => frames.map(({ id }) => Number(id));
const upTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe('GET …/observe', () => {
  test('200: what is stored, then what comes, to the end state; then the server ends the stream', async () => {
    const id = await work.admit(who);
    await append(id, text('stored '));
    const stream = await observe(id);
    expect([stream.status, stream.contentType]).toEqual([200, 'text/event-stream; charset=utf-8']);
    await eventually(() => stream.frames.length === 2);
    await append(id, text('and \n\n live \u2028 🙂'));
    const last = await end(id);
    await stream.ended;
    expect(idsOf(stream.frames)).toEqual(upTo(last));
    expect(new Set(stream.frames.map(({ event }) => event))).toEqual(new Set(['execution']));
    expect(JSON.parse(stream.frames[0]?.data ?? '')).toEqual({ sequence: 1, at: expect.any(Number), body: { _tag: 'State', state: 'queued' } });
    expect(textOf(stream.frames)).toBe('stored and \n\n live \u2028 🙂');
  });

  test('200: from any cursor, by the URL or by Last-Event-ID, which goes before it; an ended log ends at once', async () => {
    const id = await work.admit(who);
    await append(id, text('a'), text('b'), text('c'));
    const last = await end(id);
    const whole = await observe(id);
    await whole.ended;
    for (let cursor = 0; cursor <= last; cursor += 1) {
      const [byUrl, byHeader] = [await observe(id, `?afterSequence=${cursor}`), await observe(id, '?afterSequence=1', { 'Last-Event-ID': String(cursor) })];
      await Promise.all([byUrl.ended, byHeader.ended]);
      const rest = whole.frames.slice(cursor);
      expect([byUrl.frames, byHeader.frames]).toEqual([rest, rest]);
    }
  });

  test('200: twenty readers that reconnect at every event join the stored text byte for byte', async () => {
    const id = await work.admit(who);
    const reader = async (): Promise<Frame[]> => {
      const all: Frame[] = [];
      for (let over = false; !over;) {
        const stream = await observe(id, '?afterSequence=0', all.length > 0 ? { 'Last-Event-ID': all.at(-1)?.id ?? '' } : {});
        await eventually(() => stream.frames.length > 0);
        // One event is taken of each connection, whatever more it carried.
        all.push(stream.frames[0] as Frame);
        stream.close();
        const { body } = JSON.parse(all.at(-1)?.data ?? '') as { body: ExecutionEventBody };
        over = body._tag === 'State' && hasEnded(body.state);
      }
      return all;
    };
    const readers = Array.from({ length: 20 }, reader);
    const deltas = Array.from({ length: 12 }, (_, index) => `${index}:${'äö🙂\u0007'.repeat(index % 4)}|`);
    for (const delta of deltas) await append(id, text(delta));
    const last = await end(id);
    const straight = await observe(id);
    await straight.ended;
    expect(textOf(straight.frames)).toBe(deltas.join(''));
    for (const frames of await Promise.all(readers)) {
      expect(idsOf(frames)).toEqual(upTo(last));
      expect(frames.map(({ data }) => data)).toEqual(straight.frames.map(({ data }) => data));
    }
  });

  test('409: a cursor ahead of the head names the last event that there is; 400: what is no cursor', async () => {
    const id = await work.admit(who);
    for (const rest of ['/observe?afterSequence=2', '/events?afterSequence=2', '/wait?afterSequence=2&timeoutMs=0']) {
      const { status, body } = await owner.call('GET', pathOf(id, rest));
      expect([status, body['_tag'], body['sequence'], rest]).toEqual([409, 'CursorAhead', 1, rest]);
    }
    expect((await owner.call('GET', pathOf(id, '/observe'), undefined, { 'Last-Event-ID': '2' })).body['_tag']).toBe('CursorAhead');
    expect((await owner.call('GET', pathOf(id, '/observe'), undefined, { 'Last-Event-ID': 'x' })).body['field']).toBe('Last-Event-ID');
    for (const rest of ['/observe', '/events', '/wait'])
      for (const cursor of ['-1', '1.5', 'x', '2147483648', 'NaN']) {
        const { status, body } = await owner.call('GET', pathOf(id, `${rest}?afterSequence=${cursor}`));
        expect([status, body['field'], rest, cursor]).toEqual([400, 'afterSequence', rest, cursor]);
      }
  });

  test('a reader that takes nothing for a while gets everything, and the server holds no copy for it', async () => {
    const id = await work.admit(who);
    const [slow, fast] = [await observe(id), await observe(id)];
    await eventually(() => slow.frames.length === 1);
    slow.pause();
    const size = 20_000;
    const rounds = 400;
    const before = heapInUse();
    for (let round = 0; round < rounds; round += 1) await append(id, text(`${round}:`.padEnd(size, 'x')));
    await eventually(() => fast.frames.length === rounds + 1);
    // What the fast reader collected is counted out; the slow one may have a page and a window, not the log.
    const held = heapInUse() - before - rounds * size;
    expect(held).toBeLessThan((rounds * size) / 2);
    const last = await end(id);
    slow.resume();
    await Promise.all([slow.ended, fast.ended]);
    expect(idsOf(slow.frames)).toEqual(upTo(last));
    expect(slow.frames).toEqual(fast.frames);
  });

  describe('with another node', () => {
    let other: TestApp;
    beforeAll(async () => ({ app: other } = await startExecutionApp(database)));
    afterAll(() => other.close());
    const tell = (id: string): void => other.nest.get(WakeChannel).publish([id]);

    test('what it commits comes at once by its hints, and within the sweep without', async () => {
      const id = await work.admit(who);
      const stream = await observe(id);
      await eventually(() => stream.frames.length === 1);
      await work.append(who, id, text('nobody is told'));
      await eventually(() => stream.frames.length === 2, Boolean, 5_000);
      const delays: number[] = [];
      for (let round = 3; round < 13; round += 1) {
        await work.append(who, id, text('told'));
        const since = performance.now();
        tell(id);
        await eventually(() => stream.frames.length === round);
        delays.push(performance.now() - since);
      }
      // A sweep would take half a second on average.
      expect(delays.sort((a, b) => a - b)[5]).toBeLessThan(250);
      await work.end(who, id);
      tell(id);
      await stream.ended;
    });

    test('the LISTEN backends of both are terminated again and again: nothing is lost', async () => {
      const id = await work.admit(who);
      const stream = await observe(id);
      for (let round = 0; round < 10; round += 1) {
        const { rowCount } = await outside.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'openbot wake' and datname = current_database()`);
        await work.append(who, id, text(`${round} `));
        tell(id);
        if (round % 3 === 2) await eventually(() => stream.frames.length === round + 2);
        if (round === 0) expect(rowCount).toBe(2);
      }
      const last = await work.end(who, id);
      tell(id);
      await stream.ended;
      expect(idsOf(stream.frames)).toEqual(upTo(last));
      expect(textOf(stream.frames)).toBe(
        upTo(9, 0)
          .map((round) => `${round} `)
          .join(''),
      );
    });
  });

  test('a revoked token ends its open streams, and no others', async () => {
    const id = await work.admit(who);
    const { body } = await owner.call('POST', '/v1/me/tokens', { name: 'Short' });
    const [short, own] = [await observe(id, '', {}, body['token'] as string), await observe(id)];
    await eventually(() => short.frames.length === 1);
    await owner.call('DELETE', `/v1/me/tokens/${body['id'] as string}`);
    await short.ended;
    await append(id, text('for the owner alone'));
    await eventually(() => own.frames.length === 2);
    expect(short.frames).toHaveLength(1);
  });

  test('a fault after the start is one failure event with a sealed cause, and the stream closes', async () => {
    const id = await work.admit(who);
    await work.append(who, id, text('secret words'));
    await outside.query(`update execution_event set body = set_byte(body, 40, get_byte(body, 40) # 1) where execution_id = $1 and sequence = 2`, [id]);
    const stream = await observe(id);
    await stream.ended;
    const failure = stream.frames.at(-1);
    expect([failure?.event, failure?.id]).toEqual(['failure', null]);
    expect(JSON.parse(failure?.data ?? '')).toEqual({ _tag: 'RequestFailed', message: expect.any(String), category: 'unexpected', errorId: expect.stringMatching(/^err_/) });
    expect(stream.frames.map(({ data }) => data).join()).not.toMatch(/secret|cannot be opened/);
    await eventually(async () => (await outside.query(`select 1 from error_record where execution_id = $1`, [id])).rowCount === 1);
    // The same fault of a request that has not begun is a response with the error id.
    expect(await owner.call('GET', pathOf(id, '/events'))).toMatchObject({ status: 500, body: { _tag: 'RequestFailed' } });
  });

  test('a client that goes away leaves nothing behind', async () => {
    const id = await work.admit(who);
    const url = new URL(app.url);
    for (let round = 0; round < 20; round += 1) {
      const socket = connect(Number(url.port), url.hostname);
      await once(socket, 'connect');
      socket.write(`GET ${pathOf(id, '/observe')} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${owner.token}\r\n\r\n`);
      if (round % 2 === 0) await once(socket, 'data');
      socket.destroy();
    }
    const stream = await observe(id);
    await end(id);
    await stream.ended;
    expect(idsOf(stream.frames)).toEqual([1, 2]);
  });
});

describe('GET …/events', () => {
  test('200: the same events as the stream, page by page', async () => {
    const id = await work.admit(who);
    await append(id, ...upTo(124).map((index) => text(`${index} `)));
    const items: unknown[] = [];
    const sizes: number[] = [];
    for (let next: number | null = 0; next !== null;) {
      const { status, body } = await owner.call('GET', pathOf(id, `/events?afterSequence=${next}`));
      expect(status).toBe(200);
      items.push(...(body['items'] as unknown[]));
      sizes.push((body['items'] as unknown[]).length);
      next = body['next'] as number | null;
    }
    expect(sizes).toEqual([50, 50, 25]);
    const stream = await observe(id);
    await eventually(() => stream.frames.length === 125);
    expect(stream.frames.map(({ data }) => JSON.parse(data) as unknown)).toEqual(items);
    expect((await owner.call('GET', pathOf(id, '/events?afterSequence=125'))).body).toEqual({ items: [], next: null });
    for (const limit of ['0', '101', 'x']) expect((await owner.call('GET', pathOf(id, `/events?limit=${limit}`))).body['field']).toBe('limit');
  });
});

describe('GET …/wait', () => {
  const wait = (id: string, query: string) => owner.call('GET', pathOf(id, `/wait?${query}`));

  test('200: at once when events exist; with the first that come; empty when none comes; over when the log has ended', async () => {
    const id = await work.admit(who);
    expect((await wait(id, 'afterSequence=0')).body).toMatchObject({ items: [{ sequence: 1, body: { state: 'queued' } }], next: 1, state: 'queued' });
    expect((await wait(id, 'afterSequence=1&timeoutMs=50')).body).toEqual({ items: [], next: 1, state: 'queued' });

    const coming = wait(id, 'afterSequence=1&timeoutMs=20000');
    await append(id, text('here'));
    expect((await coming).body).toMatchObject({ items: [{ sequence: 2 }], next: 2, state: 'queued' });

    const ending = wait(id, 'afterSequence=2&timeoutMs=20000');
    await end(id, 'failed');
    expect((await ending).body).toMatchObject({ items: [{ sequence: 3, body: { state: 'failed' } }], next: null, state: 'failed' });
    expect((await wait(id, 'afterSequence=3&timeoutMs=20000')).body).toEqual({ items: [], next: null, state: 'failed' });
    expect((await wait(id, 'afterSequence=0')).body).toMatchObject({ next: null, state: 'failed' });
  });

  test('200: a long poll from cursor to cursor sees the whole log and the current state', async () => {
    const id = await work.admit(who);
    const seen: number[] = [];
    const polling = (async () => {
      let state: ExecutionState = 'queued';
      for (let next: number | null = 0; next !== null;) {
        const { body }: { body: Record<string, unknown> } = await wait(id, `afterSequence=${next}&timeoutMs=20000`);
        seen.push(...(body['items'] as { sequence: number }[]).map(({ sequence }) => sequence));
        state = body['state'] as ExecutionState;
        next = body['next'] as number | null;
      }
      return state;
    })();
    for (let round = 0; round < 30; round += 1) await append(id, text(`${round}`), text('.'));
    const last = await end(id);
    expect(await polling).toBe('completed');
    expect(seen).toEqual(upTo(last));
  });

  test('400: a timeout beyond a minute', async () => {
    const id = await work.admit(who);
    expect((await wait(id, 'timeoutMs=60001')).body['field']).toBe('timeoutMs');
  });
});
