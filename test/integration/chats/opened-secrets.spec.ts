import { fromPublicId } from '@platform/ids/typeid.js';
import { eventually } from '@test/support/eventually.js';
import { send, startChatApp, type ChatApp } from './chat-app.js';

let app: ChatApp;
beforeAll(async () => {
  app = await startChatApp({ OPENBOT_ROLES: 'api' });
});
afterAll(() => app.close());

test('a token that is revoked while its turn opens the key of a connection: nobody is asked', async () => {
  const owner = await app.person();
  const connection = { kind: 'openai-compatible', name: 'Ours', baseUrl: app.provider.url, models: [{ id: 'm-1' }], apiKey: 'its-own-key' };
  const provider = (await owner.call('POST', '/v1/model-connections', connection)).body.id as string;
  const bot = await app.bot(owner, { model: { provider, model: 'm-1' } });
  const phone = await app.otherToken(owner);
  const { token } = (await phone.call('GET', '/v1/me')).body as { token: string };
  const work = fromPublicId('execution', (await send(phone, bot, 'Work')).executionId);
  const works = async () =>
    (await app.outside.query<{ state: string; failure_category: string | null }>('select state, failure_category from execution where id = $1', [work])).rows[0]!;

  const holder = await app.outside.connect();
  try {
    // Who owns the turn reads the connection and its key behind this.
    await holder.query('begin');
    await holder.query('lock table model_connection in access exclusive mode');
    await app.start({ OPENBOT_ROLES: 'worker', OPENBOT_NODE: 'opens' });
    await eventually(
      () => app.outside.query(`select 1 from pg_locks where relation = 'model_connection'::regclass and not granted`),
      ({ rowCount }) => rowCount === 1,
    );
    expect((await owner.call('DELETE', `/v1/me/tokens/${token}`)).status).toBe(204);
    await holder.query('commit');
  } finally {
    holder.release(true);
  }
  expect(await eventually(works, ({ state }) => state === 'failed')).toEqual({ state: 'failed', failure_category: 'identity_revoked' });
  expect(app.provider.requests).toEqual([]);

  // The key opens for work that nobody has stopped.
  app.provider.whenAsked(() => ({ text: ['Done.'] }));
  await send(owner, bot, 'Again');
  expect((await app.provider.request(1)).headers.authorization).toBe('Bearer its-own-key');
});
