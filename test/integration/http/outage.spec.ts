import { fromPublicId } from '@platform/ids/typeid.js';
import { ErrorRecords } from '@platform/observability/error-records.js';
import { goodBodies } from './every-route-bodies.js';
import { bodySchemaOf, isPublic, mismatches, parametersOf, type Operation } from './every-route-document.js';
import { openEveryRoute, send, type EveryRoute, type Sent } from './every-route-world.js';

let world: EveryRoute;
beforeAll(async () => {
  world = await openEveryRoute();
});
afterAll(() => world.close());

const ask = (operation: Operation): Promise<Sent> => {
  const needed = parametersOf(operation, 'query').filter(({ required }) => required);
  const query = needed.length > 0 ? { query: `?${needed.map(({ name }) => `${name}=1`).join('&')}` } : {};
  return send(world, operation, world.mine.ids, bodySchemaOf(operation) ? { ...query, body: JSON.stringify(goodBodies[operation.operationId]!(world.mine)) } : query);
};

/** What is wrong with an answer, if it is not a 503 that says under which id its cause is kept and when to come back. */
function faultsOf({ responses }: Operation, { status, tag, body, headers }: Sent, wanted: string): string[] {
  if (status !== 503) return [`answers ${status} ${tag}`];
  const errorId = String(body['errorId']);
  const whole = { tag: wanted, category: 'storage_unavailable', header: errorId, retryAfter: '1' };
  const is = { tag, category: body['category'], header: headers.get('openbot-error-id'), retryAfter: headers.get('retry-after') };
  const differs = JSON.stringify(is) === JSON.stringify(whole) && /^err_/.test(errorId) ? [] : [JSON.stringify(is)];
  return [...differs, ...mismatches(world.document, responses['503']!.content!['application/json']!.schema, body)];
}

/** The causes that are stored under the ids that clients got. */
async function kept(answers: readonly Sent[]): Promise<number> {
  await world.app.nest.get(ErrorRecords).flush(20_000);
  const ids = answers.map(({ body }) => fromPublicId('error', String(body['errorId'])));
  return (await world.outside.query(`select 1 from error_record where id = any($1::uuid[])`, [ids])).rowCount ?? 0;
}

test('503: a cut database is an outage with an id on every route, and the cause of each is kept', async () => {
  const operations = world.operations.filter((operation) => !isPublic(operation));
  const { name } = (await world.outside.query<{ name: string }>('select current_database() as name')).rows[0]!;
  await world.outside.query(`alter database ${name} connection limit 0`);
  await world.outside.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename in ('openbot_api', 'openbot_worker')`);
  const answers = await Promise.all(operations.map(ask));
  await world.outside.query(`alter database ${name} connection limit -1`);
  const findings = operations.flatMap((operation, n) => faultsOf(operation, answers[n]!, 'RequestFailed').map((line) => `${operation.operationId}: ${line}`));
  expect(findings).toEqual([]);
  expect(new Set(answers.map(({ body }) => body['errorId'])).size).toBe(operations.length);
  expect(await kept(answers)).toBe(operations.length);
});

test('503: where the database stops answering inside a command, a message says so by its own name', async () => {
  const commands = world.operations.filter(({ operationId }) => ['sendBotMessage', 'sendChatMessage'].includes(operationId));
  const readers = world.operations.filter(({ operationId }) => ['listChats', 'readBot'].includes(operationId));
  expect([commands.length, readers.length]).toEqual([2, 2]);
  const holder = await world.outside.connect();
  await holder.query('begin; lock table bot, chat in access exclusive mode');
  const [sent, read] = await Promise.all([Promise.all(commands.map(ask)), Promise.all(readers.map(ask))]);
  await holder.query('rollback');
  holder.release();
  const findings = (operations: readonly Operation[], answers: readonly Sent[], tag: string): string[] =>
    operations.flatMap((operation, n) => faultsOf(operation, answers[n]!, tag));
  expect([...findings(commands, sent, 'ChatStorageUnavailable'), ...findings(readers, read, 'RequestFailed')]).toEqual([]);
  expect(await kept([...sent, ...read])).toBe(4);
});
