import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tools, type ModelAnswer, type ToolName } from './errand.js';

type ToolRequest = { readonly tool: ToolName; readonly key: string; readonly input: string };
export type Tally = { readonly requests: number; readonly effects: number };

/** What the simulated model wants, step by step. */
const plan: readonly ModelAnswer[] = [
  { tool: 'find_trains', input: 'Bern to Rome, Friday' },
  { tool: 'book_hotel', input: 'three nights near the Pantheon' },
  { tool: 'charge_card', input: '420 euros' },
  { tool: 'post_letter', input: 'a postcard to grandmother' },
  { answer: 'Your train leaves on Friday at 8:02, the hotel is booked and paid, and the card is in the post.' },
];

async function readJson<T>(request: IncomingMessage): Promise<T> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as T;
}

/** A model, a railway, a hotel, a bank and a post office. It counts what reaches it and what that brings about. */
export class OutsideWorld {
  private readonly seen: ToolRequest[] = [];
  private held: ToolName | null = null;
  private arrived: (() => void) | null = null;
  private readonly server = createServer((request, response) => {
    void (async () => {
      const answer = (body: object): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      if (request.url === '/model') return answer(plan[(await readJson<{ step: number }>(request)).step - 1] ?? { answer: '' });
      const asked = await readJson<ToolRequest>(request);
      this.seen.push(asked);
      // The effect has happened; whoever asked will never hear of it.
      if (this.held === asked.tool) return this.arrived?.();
      answer({ done: asked.tool });
    })().catch(() => response.destroy());
  });

  async open(): Promise<string> {
    this.server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Does what this tool asks for, but keeps its answer. Resolves when the request has come. */
  holdAnswerOf(tool: ToolName): Promise<void> {
    this.held = tool;
    return new Promise((resolve) => (this.arrived = resolve));
  }

  answerAgain(): void {
    this.held = null;
  }

  /** A bank and a hotel know a key that they have seen; a post office does not look. */
  tallyOf(tool: ToolName): Tally {
    const requests = this.seen.filter((request) => request.tool === tool);
    const effects = tools[tool].safety === 'keyed' ? new Set(requests.map(({ key }) => key)).size : requests.length;
    return { requests: requests.length, effects: tools[tool].effect === null ? 0 : effects };
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
