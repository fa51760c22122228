import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** What of a chunk passes, and whether both directions are cut behind it. */
export type Passed = { readonly pass: Buffer; readonly cut?: boolean };
/** What one connection does with its bytes. */
export type Passage = (chunk: Buffer, direction: 'up' | 'down') => Passed | Promise<Passed>;

export type TcpProxy = {
  readonly url: string;
  /** Connections that a passage has cut so far. */
  readonly cuts: number;
  /** From now on, with a passage of its own for every connection. Without one, everything passes. */
  through(passage: (() => Passage) | null): void;
  /** Where new connections lead from now on. */
  lead(target: string): void;
  /** Cuts what is open; new connections pass. */
  cutAll(): void;
  close(): Promise<void>;
};

/** The same numbers in [0, 1) for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Lets a random number of bytes of both directions together pass, then cuts: in the middle of a question, of an answer, or between them. */
export const cutAtRandomBytes =
  (random: () => number, minBytes: number, maxBytes: number): (() => Passage) =>
  () => {
    let left = minBytes + Math.floor(random() * (maxBytes - minBytes));
    return (chunk) => {
      const pass = chunk.subarray(0, left);
      left -= pass.length;
      return { pass, cut: left === 0 };
    };
  };

/** Stands between clients and the server of `target`, and does with their bytes what the test says. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  let server = new URL(target);
  const open = new Set<() => void>();
  let passageOf: (() => Passage) | null = null;
  let cuts = 0;

  const listener = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    const end = (): void => {
      open.delete(end);
      client.destroy();
      upstream.destroy();
    };
    open.add(end);
    let madeBy: (() => Passage) | null = null;
    let passage: Passage | null = null;
    const forward = (from: Socket, to: Socket, direction: 'up' | 'down'): void => {
      let order: Promise<void> = Promise.resolve();
      const handle = async (chunk: Buffer): Promise<void> => {
        if (madeBy !== passageOf) [madeBy, passage] = [passageOf, passageOf?.() ?? null];
        const { pass, cut } = (await passage?.(chunk, direction)) ?? { pass: chunk };
        if (pass.length > 0 && !to.destroyed) to.write(pass);
        if (!cut || to.destroyed) return;
        cuts += 1;
        await pause(1); // What passed is delivered before the connection ends.
        end();
      };
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => void (order = order.then(() => handle(chunk))));
      from.on('error', end);
      from.on('close', end);
    };
    forward(client, upstream, 'up');
    forward(upstream, client, 'down');
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((listener.address() as AddressInfo).port);

  const cutAll = (): void => {
    for (const end of [...open]) end();
  };
  return {
    url: url.toString(),
    get cuts() {
      return cuts;
    },
    through: (passage) => void (passageOf = passage),
    lead: (to) => void (server = new URL(to)),
    cutAll,
    close: async () => {
      cutAll();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
