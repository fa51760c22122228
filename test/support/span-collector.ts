import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Value = { readonly stringValue?: string; readonly intValue?: number; readonly doubleValue?: number };
type Attribute = { readonly key: string; readonly value: Value };
export type ExportedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly Attribute[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
};
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
};

export type SpanCollector = {
  readonly url: string;
  /** Everything that came, as it came. */
  readonly bodies: string[];
  spans(): ExportedSpan[];
  resources(): Readonly<Record<string, string | undefined>>[];
  close(): Promise<void>;
};

/** What receives spans over OTLP/HTTP in its JSON form. */
export async function startSpanCollector(): Promise<SpanCollector> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', () => listening()));
  const exports = (): Export['resourceSpans'][number][] => bodies.flatMap((body) => (JSON.parse(body) as Export).resourceSpans);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    spans: () => exports().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    resources: () => exports().map(({ resource }) => Object.fromEntries(resource.attributes.map(({ key, value }) => [key, value.stringValue]))),
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
