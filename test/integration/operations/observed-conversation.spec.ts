import { fromPublicId } from '@platform/ids/typeid.js';
import { PrivateServer } from '@platform/private/private-server.js';
import type { TestApp } from '@test/support/app.js';
import { eventually } from '@test/support/eventually.js';
import { endOf, send, startChatApp, type ChatApp, type Person } from '../chats/chat-app.js';
import { startSpanCollector, type ExportedSpan, type SpanCollector } from '@test/support/span-collector.js';

/** Each in another place that must not leak: what a person says, what the model says, a tool's argument and result, credentials. */
const marks = { said: 'marzipan-said', answered: 'marzipan-answered', argument: 'marzipan-argument', bot: 'marzipan-bot', key: 'sk-marzipan-key' } as const;
const remote = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

let app: ChatApp;
let observed: TestApp;
let collector: SpanCollector;
let person: Person;
let privateUrl: string;
let page: string;
let asked: string;
let spans: ExportedSpan[];

const attribute = (span: ExportedSpan | undefined, key: string) => {
  const value = span?.attributes.find((one) => one.key === key)?.value;
  return value?.stringValue ?? value?.intValue ?? value?.doubleValue;
};
const named = (name: string): ExportedSpan[] => spans.filter((span) => span.name === name);

beforeAll(async () => {
  collector = await startSpanCollector();
  app = await startChatApp({ OPENBOT_ROLES: 'api' });
  observed = await app.start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OPENBOT_PRIVATE_PORT: '0',
    OPENBOT_NODE: 'observed',
    OPENAI_API_KEY: marks.key,
    OPENBOT_EGRESS_TRACE: '127.0.0.1',
  });
  person = await observed.createTenant();
  const bot = await app.bot(person, { name: marks.bot });
  app.provider.answer(
    { calls: [{ id: 'call_1', name: 'openbot_todos', arguments: JSON.stringify({ items: [{ id: 'read', content: marks.argument, status: 'done' }] }) }] },
    { text: [marks.answered] },
  );
  const answer = await fetch(`${observed.url}/v1/bots/${bot}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json', traceparent: `00-${remote.traceId}-${remote.spanId}-01` },
    body: JSON.stringify({ input: marks.said, commandKey: `${marks.said}-key` }),
  });
  expect(answer.status).toBe(202);
  expect(await endOf(person, (await answer.json()) as Parameters<typeof endOf>[1])).toMatchObject({ response: { status: 'completed' } });
  asked = JSON.stringify(app.provider.requests.map(({ headers, body }) => ({ headers, body })));
  privateUrl = `http://127.0.0.1:${observed.nest.get(PrivateServer, { strict: false }).port}`;
  page = await (await fetch(`${privateUrl}/metrics`)).text();
  spans = await eventually(
    () => collector.spans(),
    (found) => found.some(({ name, traceId }) => name === 'run turn' && traceId === remote.traceId),
    15_000,
  );
}, 60_000);
afterAll(async () => {
  await app?.close();
  await collector?.close();
});

test('one trace leads from the request over the run and its phases to the outside calls', () => {
  const trace = spans.filter(({ traceId }) => traceId === remote.traceId);
  const [request] = trace.filter(({ name }) => name === 'POST /v1/bots/:botId/messages');
  expect(request).toMatchObject({ parentSpanId: remote.spanId, kind: 2 });
  const [run] = trace.filter(({ name }) => name === 'run turn');
  expect(run).toMatchObject({ parentSpanId: request?.spanId, links: [] });
  expect(attribute(run, 'openbot.ready.since')).toBe('admission');
  const phases = trace.filter(({ name }) => name.startsWith('phase '));
  expect(phases.map(({ name }) => name)).toEqual(expect.arrayContaining(['phase PrepareTurn', 'phase ModelStep', 'phase ToolStep']));
  expect(phases.every(({ parentSpanId }) => parentSpanId === run?.spanId)).toBe(true);
  const calls = trace.filter(({ name }) => name === 'call model');
  expect(calls).toHaveLength(2);
  for (const call of calls) {
    expect(phases.find(({ spanId }) => spanId === call.parentSpanId)?.name).toBe('phase ModelStep');
    expect(attribute(call, 'openbot.call.outcome')).toBe('succeeded');
  }
  expect([run, ...phases, ...calls].flatMap((span) => span?.events ?? []).filter(({ name }) => name === 'commit').length).toBeGreaterThan(2);
  expect(collector.resources()[0]).toMatchObject({ 'service.name': 'openbot', 'service.instance.id': 'observed', 'service.version': expect.stringMatching(/^\d/) as string });
});

test('work that was admitted in no trace has one of its own, and each of its owners links to the one before', async () => {
  const stranger = await app.person();
  const bot = await app.bot(stranger);
  const before = app.provider.requests.length;
  app.provider.whenAsked(() => ({ text: ['hello'], ...(app.provider.requests.length === before + 1 ? { end: 'hold' as const } : {}) }));
  const receipt = await send(stranger, bot, 'hello');
  await app.provider.request(before + 1);
  await app.outside.query(`update execution set owner = null, epoch = null, claim_id = null, runnable_at = '-infinity' where id = $1`, [
    fromPublicId('execution', receipt.executionId),
  ]);
  expect(await endOf(stranger, receipt)).toMatchObject({ response: { status: 'completed' } });
  const runs = await eventually(
    () => collector.spans().filter((span) => span.name === 'run turn' && attribute(span, 'openbot.execution') === receipt.executionId),
    (found) => found.length === 2,
    // The first owner notices at one of its looks that the work is another's.
    60_000,
  );
  const [first, second] = runs.sort((a, b) => Number(attribute(a, 'openbot.generation')) - Number(attribute(b, 'openbot.generation')));
  expect(first).toMatchObject({ traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string, links: [] });
  expect(first?.parentSpanId || null).toBeNull();
  expect(second).toMatchObject({ traceId: first?.traceId, links: [{ traceId: first?.traceId, spanId: first?.spanId }] });
}, 90_000);

test('a host that the operator named gets the trace of the call, and others get none', async () => {
  const [first] = app.provider.requests;
  const call = named('call model').find(({ traceId }) => traceId === remote.traceId);
  expect(first?.headers['traceparent']).toBe(`00-${remote.traceId}-${call?.spanId}-01`);

  const quiet = await app.start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OPENBOT_NODE: 'quiet' });
  try {
    const tenant = await quiet.createTenant();
    app.provider.reset();
    app.provider.whenAsked(() => ({ text: ['hello'] }));
    const made = await tenant.call('POST', '/v1/bots', { name: 'Quiet', model: { provider: 'openai', model: 'scripted' } });
    await observed.nest.close();
    await tenant.call('POST', `/v1/bots/${String(made.body['id'])}/messages`, { input: 'hello', commandKey: 'quiet' });
    expect((await app.provider.request(1)).headers['traceparent']).toBeUndefined();
  } finally {
    await quiet.close();
  }
});

/** Ids, names and numbers: no sentence, no object, nothing that somebody typed. */
const harmless = /^[\w.:/-]{1,80}$/;
const keys = new Set(
  ['execution', 'workflow', 'generation', 'node', 'stalls', 'ready.since', 'ready.ms', 'phase', 'call.safety', 'call.step', 'call.attempt', 'call.outcome', 'commit', 'state', 'release', 'events', 'outcome'] // prettier-ignore
    .map((key) => `openbot.${key}`)
    .concat('http.request.method', 'http.route', 'http.response.status_code', 'error.type'),
);

test('every attribute of a span and of its events is a known one, and an id, a name or a number', () => {
  const attributes = collector.spans().flatMap((span) => [span, ...span.events].flatMap((part) => part.attributes));
  expect(attributes.length).toBeGreaterThan(100);
  expect([...new Set(attributes.map(({ key }) => key))].filter((key) => !keys.has(key))).toEqual([]);
  expect(attributes.flatMap(({ value }) => value.stringValue ?? []).filter((value) => !harmless.test(value))).toEqual([]);
});

test('no content is in the exported spans and in the metrics', () => {
  // All of it went by: what is missing here could not leak.
  for (const mark of [marks.said, marks.argument, marks.key]) expect(asked).toContain(mark);
  const everything = [...collector.bodies, page].join('\n');
  expect(everything.length).toBeGreaterThan(5_000);
  for (const mark of [...Object.values(marks), person.token, person.organizationId]) expect(everything).not.toContain(mark);
});

test('the page counts what happened, by names that are bounded', () => {
  for (const sample of [
    'openbot_executions_claimed_total{workflow="turn"} 1',
    'openbot_executions_ended_total{workflow="turn",state="completed"} 1',
    'openbot_call_duration_seconds_count{kind="model",safety="repeatable",outcome="succeeded"} 2',
    'openbot_http_request_duration_seconds_count{method="POST",route="/v1/bots/:botId/messages",status="202"} 1',
    'openbot_lease_losses_total 0',
    'openbot_slots 200',
    'openbot_lease_held 1',
  ])
    expect(page).toContain(sample);
  for (const name of [
    'openbot_commits_total{outcome="applied"}',
    'openbot_commit_batch_items_bucket',
    'openbot_claim_wait_seconds_count{since="admission"}',
    'openbot_pool_connections{pool="worker",state="idle"}',
    'openbot_wake_channel_up',
    'openbot_hub_readers',
    'nodejs_eventloop_lag_p99_seconds',
    'process_cpu_seconds_total',
  ])
    expect(page).toContain(name);
  expect(page).not.toMatch(/(exe|chat|bot|org|mem)_[0-9a-z]{26}|[0-9a-f]{8}-[0-9a-f]{4}-/);
});
