import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Request = {
  readonly execution: string;
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
  readonly key: string;
  /** The work whose limit it stands in. */
  readonly crowd?: string;
};

/** The world outside: it writes down every request, and what each brought about. */
export type Outside = {
  readonly url: string;
  /** Everything that reached it for this execution. */
  requestsOf(execution: string): readonly Request[];
  /** What was brought about, by step and name: a read nothing, a charge once for its key, a letter or an order for each request. */
  effectsOf(execution: string): Readonly<Record<string, number>>;
  /** How many requests of one limit were here at once, at most. */
  crowdOf(execution: string): number;
  close(): Promise<void>;
};

/** Whether what a key asked for has been done. */
type Question = { readonly asks: string } & Pick<Request, 'execution' | 'step' | 'name'>;

async function readJson(request: IncomingMessage): Promise<Request | Question> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Request | Question;
}

/** The same for every attempt, so that a repeated request changes nothing that is stored. */
export const answerTo = ({ step, name }: Pick<Request, 'step' | 'name'>): { said: string } => ({ said: `${name} ${step} is done` });

/** The answer to a parcel is lost on its way, whoever sends it; the one to a late letter comes when its sender has lost the work. */
const isLost = ({ name }: Request): boolean => name === 'parcel';
const isLate = ({ name }: Request): boolean => name === 'late-letter';
const lateBy = 4;

export async function startOutside(answersAfterMs: number): Promise<Outside> {
  const requests: Request[] = [];
  const here = new Map<string, number>();
  const crowds = new Map<string, number>();
  const count = (crowd: string | undefined, by: 1 | -1): void => {
    if (crowd === undefined) return;
    here.set(crowd, (here.get(crowd) ?? 0) + by);
    crowds.set(crowd, Math.max(crowds.get(crowd) ?? 0, here.get(crowd) ?? 0));
  };
  const server = createServer((incoming, response) => {
    incoming.on('error', () => undefined);
    void (async () => {
      const answer = (body: object): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      const request = await readJson(incoming);
      if ('asks' in request) {
        const isDone = requests.some(({ key, execution }) => key === request.asks && execution === request.execution);
        return answer(isDone ? { kind: 'done', result: answerTo(request) } : { kind: 'not-done' });
      }
      requests.push(request);
      count(request.crowd, 1);
      const settle = (): void => {
        count(request.crowd, -1);
        if (isLost(request)) response.destroy();
        else answer(answerTo(request));
      };
      setTimeout(settle, isLate(request) ? answersAfterMs * lateBy : answersAfterMs);
    })().catch(() => response.destroy());
  });
  // Else it ends an idle connection in the instant of the next request on it, and a call fails that no cell asked to fail.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const requestsOf = (execution: string): Request[] => requests.filter((request) => request.execution === execution);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestsOf,
    crowdOf: (execution) => crowds.get(execution) ?? 0,
    effectsOf: (execution) => {
      const effects: Record<string, number> = {};
      const charged = new Set<string>();
      for (const { step, name, key } of requestsOf(execution)) {
        if (name === 'read' || (name === 'charge' && charged.has(key))) continue;
        charged.add(key);
        effects[`${step}:${name}`] = (effects[`${step}:${name}`] ?? 0) + 1;
      }
      return effects;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
