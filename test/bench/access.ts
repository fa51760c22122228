import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { AccessServer } from './access-server.js';
import { median } from './median.js';
import type { Line } from './table.js';

const callers = 50;
const variants = ['checked', 'unchecked'] as const;
type Variant = (typeof variants)[number];

/** One server in a process of its own, with a chat for each caller. */
class Served {
  private sent = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly pool: Pool,
    private readonly token: string,
    private readonly chats: string[] = [],
  ) {}

  static async start(url: string, variant: Variant): Promise<Served> {
    const child = fork(join(__dirname, 'access-server.js'), [url, variant]);
    const [{ url: origin, token }] = (await once(child, 'message')) as [AccessServer];
    const served = new Served(child, new Pool(origin, { connections: callers }), token);
    for (let caller = 0; caller < callers; caller += 1) {
      const { id } = (await served.ask('POST', '/v1/bots', { name: 'Bench', model: { provider: 'development', model: 'mock-text' } })) as { id: string };
      const { chat } = (await served.ask('POST', `/v1/bots/${id}/messages`, { commandKey: `first-${caller}`, input: 'Hello' })) as { chat: string };
      served.chats.push(chat);
    }
    return served;
  }

  readonly reads = (caller: number): Promise<unknown> => this.ask('GET', `/v1/chats/${this.chats[caller]}`);

  /** A message of its own each time, for the turn that waits in the caller's chat. */
  readonly sends = (caller: number): Promise<unknown> => this.ask('POST', `/v1/chats/${this.chats[caller]}/messages`, { commandKey: `bench-${(this.sent += 1)}`, input: 'Hello' });

  /** Requests per second of callers that each have one under way. */
  async rate(request: (caller: number) => Promise<unknown>, forMs: number): Promise<number> {
    const begin = performance.now();
    let answered = 0;
    const call = async (caller: number): Promise<void> => {
      while (performance.now() < begin + forMs) {
        await request(caller);
        answered += 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
    return (answered * 1000) / (performance.now() - begin);
  }

  async stop(): Promise<void> {
    await this.pool.close();
    const ended = once(this.child, 'exit');
    this.child.send('close');
    await ended;
  }

  private async ask(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const answer = await this.pool.request({
      method,
      path,
      headers: { authorization: `Bearer ${this.token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text);
  }
}

/**
 * What access costs a request: the server as it is beside one without row-level security that takes every request's identity as known. Each round
 * measures both, one right after the other, and every other round the other way round.
 */
export async function measureAccess(urls: Readonly<Record<Variant, string>>, rounds: number, forMs: number): Promise<Line[]> {
  const servers = { checked: await Served.start(urls.checked, 'checked'), unchecked: await Served.start(urls.unchecked, 'unchecked') };
  const cases = [
    ['GET /v1/chats/:id, 50 at a time', (served: Served) => served.reads],
    ['POST /v1/chats/:id/messages, 50 at a time', (served: Served) => served.sends],
  ] as const;
  const lines: Line[] = [];
  for (const [measure, request] of cases) {
    const taken: Record<Variant, number[]> = { checked: [], unchecked: [] };
    for (const variant of variants) await servers[variant].rate(request(servers[variant]), forMs);
    for (let round = 0; round < rounds; round += 1) {
      const order = round % 2 === 0 ? variants : [...variants].reverse();
      for (const variant of order) taken[variant].push(await servers[variant].rate(request(servers[variant]), forMs));
    }
    const ratios = taken.checked.map((rate, round) => rate / (taken.unchecked[round] ?? NaN));
    const ratio = median(ratios);
    lines.push({
      measure,
      unit: 'requests/s',
      ours: median(taken.checked),
      peer: { name: 'without checks', measured: median(taken.unchecked) },
      ratio,
      range: ratios,
      must: '≥ 0.90×',
      aim: '',
      verdict: ratio >= 0.9,
    });
  }
  await Promise.all(variants.map((variant) => servers[variant].stop()));
  return lines;
}
