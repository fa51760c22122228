import { eventually } from '@test/support/eventually.js';
import type { ServerPlace, ServerRun } from '@test/support/server-process.js';
import { startSpanCollector, type ExportedSpan, type SpanCollector } from '@test/support/span-collector.js';
import { endedExecution, openServerWorld, upTo, type Receipt, type ServerWorld } from './server-world.js';

const nodes = ['first', 'second'];
const marks = { said: 'marzipan-said', answered: 'marzipan-answered' } as const;

jest.setTimeout(120_000);

let world: ServerWorld;
let collector: SpanCollector;
const places = new Map<string, ServerPlace>();
const servers = new Map<string, ServerRun>();

beforeAll(async () => {
  [world, collector] = await Promise.all([openServerWorld(), startSpanCollector()]);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100', OPENBOT_GRACE_MS: '200' };
  await Promise.all(
    nodes.map(async (node) => {
      places.set(node, await world.place({ node, env }));
      servers.set(node, await places.get(node)!.start());
    }),
  );
});
afterAll(async () => {
  await world?.close();
  await collector?.close();
});

const spansOf = (trace: string, name: string): ExportedSpan[] => collector.spans().filter((span) => span.traceId === trace && span.name === name);
const attribute = (span: ExportedSpan, key: string) => {
  const value = span.attributes.find((one) => one.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
};

/** A turn whose first owner streams until it is stopped, and whose first phases are exported by then. */
async function startTurn(trace: string): Promise<{ readonly receipt: Receipt; readonly owner: string }> {
  world.provider.reset();
  world.provider.whenAsked(() => ({ text: upTo(20).map((part) => `${marks.answered} ${part} `), ...(world.provider.requests.length === 1 ? { end: 'hold' as const } : {}) }));
  const { local } = servers.get('first')!;
  const answer = await fetch(`${local.url}/v1/bots/${local.botId}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${local.token}`, 'content-type': 'application/json', traceparent: `00-${trace}-00f067aa0ba902b7-01` },
    body: JSON.stringify({ input: marks.said, commandKey: trace }),
  });
  const receipt = (await answer.json()) as Receipt;
  await world.text(receipt);
  await eventually(
    () => [...spansOf(trace, 'phase PrepareTurn'), ...spansOf(trace, 'POST /v1/bots/:botId/messages')],
    (spans) => spans.length === 2,
  );
  const [{ owner }] = (await world.rows('select owner from execution where id = $1', [world.uuid(receipt)])) as [{ owner: string }];
  return { receipt, owner };
}

test.each([
  ['is killed', 'SIGKILL', '4bf92f3577b34da6a3ce929d0e0e4736'],
  ['leaves in the middle of a call', 'SIGTERM', '7bf92f3577b34da6a3ce929d0e0e4737'],
] as const)('an owner that %s: the next one goes on in its trace, and links to its run', async (_, signal, trace) => {
  const { receipt, owner } = await startTurn(trace);
  const heir = nodes.find((name) => name !== owner)!;
  servers.get(owner)!.signal(signal);
  await servers.get(owner)!.exited;
  expect(await endedExecution(servers.get(heir)!.local, receipt)).toMatchObject({ state: 'completed' });

  const runs = await eventually(
    () => spansOf(trace, 'run turn'),
    (spans) => spans.some((span) => attribute(span, 'openbot.node') === heir),
  );
  const [request] = spansOf(trace, 'POST /v1/bots/:botId/messages');
  const run = runs.find((span) => attribute(span, 'openbot.node') === heir)!;
  // What the first owner had sent of its run: its first phase names it, whether or not the run itself could be ended and sent.
  const before = spansOf(trace, 'phase PrepareTurn').map(({ parentSpanId }) => parentSpanId);
  expect(before).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)]);
  expect(run).toMatchObject({ parentSpanId: request!.spanId, links: [{ traceId: trace, spanId: before[0] }] });
  expect(attribute(run, 'openbot.generation')).toBe(2);
  expect(attribute(run, 'openbot.stalls')).toBe(signal === 'SIGKILL' ? 1 : 0);
  expect(runs.filter(({ spanId }) => spanId === before[0]).map((span) => attribute(span, 'openbot.node'))).toEqual(signal === 'SIGKILL' ? [] : [owner]);

  const steps = spansOf(trace, 'phase ModelStep').filter(({ parentSpanId }) => parentSpanId === run.spanId);
  const calls = spansOf(trace, 'call model').filter(({ parentSpanId }) => steps.some(({ spanId }) => spanId === parentSpanId));
  expect(calls.map((span) => [attribute(span, 'openbot.call.attempt'), attribute(span, 'openbot.call.outcome')])).toEqual([[2, 'succeeded']]);
  for (const mark of [...Object.values(marks), servers.get(heir)!.local.token]) expect(collector.bodies.join('\n')).not.toContain(mark);
  servers.set(owner, await places.get(owner)!.start());
});
