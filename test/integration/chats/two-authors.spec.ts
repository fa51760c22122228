import { eventually } from '@test/support/eventually.js';
import { send, startChatApp, textsOf, uuidOf, type ChatApp, type Person } from './chat-app.js';

let app: ChatApp;
beforeAll(async () => {
  app = await startChatApp();
});
afterAll(() => app.close());

/** A reproducible sequence of numbers from 0 to 1. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('200 messages of two authors, steered, queued and interrupted in between: each is read in exactly one turn, in its author’s order', async () => {
  const laptop = await app.person();
  const phone = await app.otherToken(laptop);
  const bot = await app.bot(laptop);
  const roll = dice(7);
  const call = { id: 'call_1', name: 'openbot_todos', arguments: '{}' };
  app.provider.whenAsked(() => ({ text: ['Answer.'], ...(roll() < 0.4 ? { calls: [call] } : {}), delayMs: Math.floor(roll() * 10) }));

  const queued = new Set<string>();
  const speak = async (person: Person, name: string): Promise<string[]> => {
    const sent: string[] = [];
    for (let index = 0; index < 100; index += 1) {
      const text = `${name} ${index}`;
      const queue = roll() < 0.3;
      if (queue) queued.add(text);
      const { chat } = await send(person, bot, text, { queue });
      sent.push(text);
      if (roll() < 0.05) expect((await person.call('POST', `/v1/chats/${chat}/interrupt`, { commandKey: `${text} stop` })).status).toBe(202);
    }
    return sent;
  };
  const sent = await Promise.all([speak(laptop, 'laptop'), speak(phone, 'phone')]);

  const { items: chats } = (await laptop.call('GET', '/v1/chats')).body;
  const chat = chats[0].chat.id as string;
  await eventually(
    async () => (await laptop.call('GET', `/v1/chats/${chat}`)).body,
    ({ status, inbox }) => status !== 'Running' && inbox === 0,
    60_000,
  );
  const read: string[] = [];
  for (let before = ''; ;) {
    const page = (await laptop.call('GET', `/v1/chats/${chat}/items?limit=100${before}`)).body;
    read.push(...textsOf(page.items.filter(({ content }: { content: { role?: string } }) => content.role === 'user')));
    if (page.next === null) break;
    before = `&before=${page.next}`;
  }
  read.reverse();
  expect([...read].sort()).toEqual(sent.flat().sort());
  for (const own of sent) {
    const order = read.filter((text) => own.includes(text)).map((text) => own.indexOf(text));
    order.forEach((number, at) => expect(order.slice(at + 1).filter((later) => later < number && !queued.has(own[later]!))).toEqual([]));
  }

  const { rows: gaps } = await app.outside.query(`select execution_id from execution_event group by execution_id having count(*) <> max(sequence)`);
  expect(gaps).toEqual([]);
  const { rows: places } = await app.outside.query(`select count(*)::int as items, max(seq) as last from chat_item where chat_id = $1`, [uuidOf(chat)]);
  expect(places[0]!.items).toBe(places[0]!.last);
  const { rows: open } = await app.outside.query(`select state, count(*) from execution where ended_at is null and member_id is not null group by state`);
  expect(open).toEqual([]);
}, 120_000);
