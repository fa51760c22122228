import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@test/support/eventually.js';
import type { RecordedRequest, ScriptedAnswer } from '@test/support/scripted-provider.js';
import type { ServerPlace, ServerRun } from '@test/support/server-process.js';
import { seededRandom } from '@test/support/tcp-proxy.js';
import { accepted, itemsOf, openServerWorld, request, textOf, upTo, type ServerWorld } from './server-world.js';

jest.setTimeout(180_000);

const messagesEach = 100;
const restarts = 4;
const seed = Number(process.env['RECOVERY_SEED'] ?? Date.now() % 1_000_000);

type Sent = { readonly author: string; readonly index: number; readonly text: string; readonly queue: boolean };
type Place = { readonly place: ServerPlace; run: ServerRun | null };

let world: ServerWorld;
let places: readonly Place[];
let botId: string;
let tokens: readonly string[];
let chat: string;
let accepts = 0;
/** Every answer that a client got, by what it says. */
const answers = new Map<string, number>();

beforeAll(async () => {
  world = await openServerWorld();
  places = await Promise.all(['first', 'second'].map(async (node) => ({ place: await world.place({ node }), run: null })));
  await Promise.all(places.map(async (entry) => (entry.run = await entry.place.start())));
  const { local } = places[0]!.run!;
  botId = local.botId;
  tokens = [local.token, (await accepted(local, 'POST', '/v1/me/tokens', { name: 'Phone' })).token as string];
});
afterAll(() => world.close());

/** Some steps call a tool first, so that steers find steps to come. */
function converse(random: () => number, { body }: RecordedRequest): ScriptedAnswer {
  const input = body['input'] as { readonly type?: string }[];
  if (input.at(-1)?.type !== 'function_call_output' && random() < 0.4) return { calls: [{ id: `call_${world.provider.requests.length}`, name: 'openbot_todos', arguments: '{}' }] };
  return { text: ['Some ', 'words ', 'of an answer.'], pauseMs: Math.floor(random() * 25) };
}

/** As a client does it: the same command again, at either server, until one has answered. */
async function deliver(token: string, random: () => number, { author, index, text, queue }: Sent): Promise<void> {
  for (;;) {
    const run = places[Math.floor(random() * places.length)]!.run;
    if (run) {
      const body = { input: text, commandKey: `${author}-${index}`, queue };
      const answer = await request({ url: run.local.url, token }, 'POST', `/v1/bots/${botId}/messages`, body).catch(() => null);
      const kind = answer ? `${answer.status} ${answer.status === 202 ? '' : String(answer.body._tag)}`.trim() : 'no connection';
      answers.set(kind, (answers.get(kind) ?? 0) + 1);
      if (answer?.status === 202) return void (chat = answer.body.chat as string);
      if (answer && answer.status !== 503) throw new Error(`${kind}: ${answer.text}`);
    }
    await pause(20 + random() * 80);
  }
}

async function converseAs(author: string, token: string, random: () => number): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (const index of upTo(messagesEach)) {
    const message = { author, index, text: `${author} ${index}`, queue: random() < 0.3 };
    await deliver(token, random, message);
    sent.push(message);
    accepts += 1;
    await pause(random() * 40);
  }
  return sent;
}

/** One of the two after the other, each in the middle of things. */
async function killNowAndThen(random: () => number): Promise<void> {
  for (const round of upTo(restarts)) {
    const due = (round * 2 * messagesEach) / (restarts + 1) - random() * 10;
    await eventually(() => accepts, (count) => count >= due, 120_000); // prettier-ignore
    const entry = places[Math.floor(random() * places.length)]!;
    const run = entry.run!;
    entry.run = null;
    run.signal('SIGKILL');
    await run.exited;
    entry.run = await entry.place.start();
  }
}

/** Messages of one author that were read before an earlier one. Only a steer may do that, and only to an input that waits by its own wish. */
function overtakings(sent: readonly Sent[], read: readonly string[]): { readonly allowed: boolean; readonly what: string }[] {
  const places = new Map(read.map((text, place) => [text, place]));
  return sent.flatMap((earlier, at) =>
    sent
      .slice(at + 1)
      .filter((later) => places.get(later.text)! < places.get(earlier.text)!)
      .map((later) => ({ allowed: earlier.queue && !later.queue, what: `${later.text} was read before ${earlier.text}` })),
  );
}

test(`200 messages of two authors while servers are killed: each in one turn, in order, and everything ends (RECOVERY_SEED=${seed})`, async () => {
  const [plan, kills, ...authors] = upTo(4).map((part) => seededRandom(seed * 10 + part));
  world.provider.whenAsked((asked) => converse(plan!, asked));
  const [one, two] = await Promise.all([
    ...tokens.map((token, index) => converseAs(`author-${index + 1}`, token, authors[index]!)),
    killNowAndThen(kills!),
  ] as const) as [Sent[], Sent[], void]; // prettier-ignore

  await eventually(() => world.rows('select state, owner from execution where ended_at is null and member_id is not null'), (open) => open.length === 0, 60_000); // prettier-ignore
  const server = { ...places[0]!.run!.local, token: tokens[0]! };
  const read = (await itemsOf(server, chat)).filter(({ content }) => content.role === 'user').map(({ content }) => textOf(content));

  expect([...read].sort()).toEqual([...one, ...two].map(({ text }) => text).sort());
  const overtook = [...overtakings(one, read), ...overtakings(two, read)];
  expect(overtook.filter(({ allowed }) => !allowed)).toEqual([]);
  expect([...answers.keys()].filter((kind) => !['202', 'no connection'].includes(kind) && !kind.startsWith('503 '))).toEqual([]);

  expect(await world.rows(`select id from execution where member_id is not null and (owner is not null or ended_at is null or state <> 'completed')`)).toEqual([]);
  expect(await world.rows(`select id from chat_turn where state <> 'completed'`)).toEqual([]);
  expect(await world.rows('select id from chat where running_turn_id is not null')).toEqual([]);
  expect(await world.rows('select count(*)::int as inputs, count(taken_step)::int as taken from chat_input')).toEqual([{ inputs: 200, taken: 200 }]);
  expect(await world.rows('select execution_id from execution_event group by execution_id having max(sequence) <> count(*)')).toEqual([]);
  expect(await world.rows('select chat_id from chat_item group by chat_id having max(seq) <> count(*)')).toEqual([]);
  const [{ deadlocks, turns }] = (await world.rows(
    'select deadlocks::int, (select count(*)::int from chat_turn) as turns from pg_stat_database where datname = current_database()',
  )) as [{ deadlocks: number; turns: number }];
  console.info(
    `${turns} turns, ${world.provider.requests.length} model requests, ${overtook.length} steers overtook, ${deadlocks} deadlocks inside; answers: ${JSON.stringify(Object.fromEntries(answers))}`,
  );
});
