import { fromPublicId } from '@platform/ids/typeid.js';
import { eventually } from '@test/support/eventually.js';
import { endOf, gate, newKey, send, startChatApp, type ChatApp, type Person, type Receipt } from './chat-app.js';

let app: ChatApp;
let person: Person;
beforeEach(async () => {
  // The API alone: each test starts its owners itself.
  app = await startChatApp({ OPENBOT_ROLES: 'api' });
  person = await app.person();
});
afterEach(() => app.close());

const executionOf = ({ executionId }: Receipt): string => fromPublicId('execution', executionId) ?? '';

/** An owner that has sent its request and is gone before the answer, as a kill leaves it. */
async function loseOwner(receipt: Receipt, attempts: number): Promise<void> {
  const asked = gate();
  app.provider.whenAsked(() => (asked.open(), { text: ['Half'], end: 'hold' }));
  const lost = await app.start({ OPENBOT_NODE: 'lost-owner', OPENBOT_GRACE_MS: '100' });
  await asked.opened;
  const id = executionOf(receipt);
  await app.outside.query(`update execution set owner = null, epoch = null, claim_id = null, runnable_at = null, generation = generation + 1 where id = $1`, [id]);
  await lost.close();
  if (attempts > 1) await app.outside.query(`update execution_call set attempt = $2, input = null where execution_id = $1`, [id, attempts]);
}

test('a turn that is stopped after its owner was lost has a row of unknown usage for the request that nobody finished', async () => {
  const receipt = await send(person, await app.bot(person), 'hello');
  await loseOwner(receipt, 1);
  expect((await person.call('POST', `/v1/executions/${receipt.executionId}/cancel`, { commandKey: newKey() })).status).toBe(202);
  await app.start({ OPENBOT_NODE: 'next-owner' });
  await endOf(person, receipt);
  const { items } = (await person.call('GET', `/v1/executions/${receipt.executionId}/calls`)).body;
  expect(items).toMatchObject([{ state: 'abandoned', attempt: 1, usage: { status: 'unknown', provider: 'openai', inputTokens: null } }]);
});

test('a step whose attempts are lost again and again fails its turn, and is not paid for ever', async () => {
  const receipt = await send(person, await app.bot(person), 'hello');
  await loseOwner(receipt, 20);
  const before = app.provider.requests.length;
  await app.start({ OPENBOT_NODE: 'next-owner' });
  await app.outside.query(`update execution set runnable_at = '-infinity' where id = $1`, [executionOf(receipt)]);
  expect(await endOf(person, receipt)).toMatchObject({ response: { status: 'failed', error: { category: 'model_interrupted' } } });
  expect(app.provider.requests).toHaveLength(before);
  await eventually(async () => (await person.call('GET', `/v1/chats/${receipt.chat}`)).body.status === 'Failed');
});
