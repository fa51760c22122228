import { fromPublicId } from '@platform/ids/typeid.js';
import { eventually } from '@test/support/eventually.js';
import { startChatApp, type ChatApp, type Person } from './chat-app.js';

const members = 10;
const todosCall = { id: 'call_1', name: 'openbot_todos', arguments: '{"items":[]}' };

let app: ChatApp;
let owner: Person;
beforeAll(async () => {
  app = await startChatApp();
  owner = await app.person();
});
afterAll(() => app.close());

const workOf = async ({ memberId }: Person): Promise<{ state: string; failure_category: string | null }[]> =>
  (
    await app.outside.query<{ state: string; failure_category: string | null }>(`select state, failure_category from execution where member_id = $1`, [
      fromPublicId('member', memberId),
    ])
  ).rows;

test('members who are suspended while they send and their turns ask the model again and again: no call passes its gate afterwards', async () => {
  app.provider.whenAsked(() => ({ calls: [todosCall] }));
  const crowd = await Promise.all(Array.from({ length: members }, () => app.member(owner)));
  await Promise.all(
    crowd.map(async (member, index) => {
      const bot = await app.bot(member, { maxSteps: 200 });
      const send = (key: string) => member.call('POST', `/v1/bots/${bot}/messages`, { input: 'Work', commandKey: key });
      const suspend = () => owner.call('PATCH', `/v1/organization/members/${member.memberId}`, { expected: 1, suspended: true });
      // Each at another moment: with the first message, after it, and after so many requests of all.
      const first = send('first');
      if (index >= 2) await Promise.all([first, app.provider.request(index)]);
      const [suspended] = await Promise.all([index === 0 ? suspend() : first.then(suspend), send('second'), send('third')]);
      expect(suspended.status).toBe(200);
    }),
  );
  for (const member of crowd) {
    const work = await eventually(
      () => workOf(member),
      (rows) => rows.every(({ state }) => state === 'failed'),
    );
    for (const { failure_category: category } of work) expect(category).toBe('identity_revoked');
  }
  const ids = crowd.map(({ memberId }) => fromPublicId('member', memberId));
  // By one clock: what was let out was let out before its identity was revoked, and what no revocation saw was never let out.
  const { rows } = await app.outside.query<{ late: boolean; seen: boolean }>(
    `select coalesce(c.created_at > r.since, false) as late, r.since is not null as seen from execution x
     join execution_call c on c.execution_id = x.id and c.state <> 'abandoned' left join identity_revocation r on r.identity_id = x.identity_id where x.member_id = any ($1)`,
    [ids],
  );
  expect(rows.length).toBeGreaterThan(members / 2);
  expect(rows.filter(({ late, seen }) => late || !seen)).toEqual([]);
});
