import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Send = { readonly execution: string; readonly step: number; readonly attempt: number; readonly key: string };

/** The world outside: a server that writes down every request that reaches it, answers when the test lets it, and knows what became of a key. */
export type Outside = {
  readonly url: string;
  readonly sends: Send[];
  /** The most requests that were open at once. */
  most(): number;
  sendsOf(execution: string): string[];
  /** Holds the answers of these executions from now on, until they are let go. */
  hold(executions: readonly string[]): void;
  /** Lets what is held go, and all that comes. */
  letGo(): void;
  close(): Promise<void>;
};

async function readJson(request: IncomingMessage): Promise<Send> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Send;
}

const answerTo = ({ step }: Send) => ({ said: `answer ${step}` });

export async function startOutside(answersAfterMs = 0): Promise<Outside> {
  const sends: Send[] = [];
  const held = new Set<string>();
  let waiting: (() => void)[] = [];
  let open = 0;
  let most = 0;
  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    void (async () => {
      if (request.method === 'GET') {
        const { searchParams } = new URL(request.url ?? '', 'http://outside');
        const done = sends.find(({ key }) => key === searchParams.get('key'));
        return void response.setHeader('content-type', 'application/json').end(JSON.stringify(done ? { kind: 'done', result: answerTo(done) } : { kind: 'not-done' }));
      }
      const send = await readJson(request);
      sends.push(send);
      open += 1;
      most = Math.max(most, open);
      response.once('close', () => (open -= 1));
      if (held.has(send.execution)) await new Promise<void>((resolve) => waiting.push(resolve));
      setTimeout(() => response.setHeader('content-type', 'application/json').end(JSON.stringify(answerTo(send))), answersAfterMs);
    })().catch(() => response.destroy());
  });
  // Else it ends an idle connection in the instant of the next request on it, and a call fails that no test asked to fail.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sends,
    most: () => most,
    sendsOf: (execution) => sends.filter((send) => send.execution === execution).map(({ step, attempt }) => `${step}:${attempt}`),
    hold: (executions) => executions.forEach((id) => held.add(id)),
    letGo: () => {
      held.clear();
      waiting.splice(0).forEach((answer) => answer());
    },
    close: async () => {
      waiting = [];
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
