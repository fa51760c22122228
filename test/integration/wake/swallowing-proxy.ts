import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to the database that can go silent: it takes bytes and passes none on, and nobody is told. */
export type SwallowingProxy = {
  readonly url: string;
  /** How many connections were made through it. */
  readonly connections: () => number;
  /** What is connected now goes silent in both directions; new connections work. */
  swallow(): void;
  close(): Promise<void>;
};

export async function openSwallowingProxy(databaseUrl: string): Promise<SwallowingProxy> {
  const target = new URL(databaseUrl);
  const open = new Set<{ readonly client: Socket; readonly server: Socket; silent: boolean }>();
  let connections = 0;
  const proxy = createServer((client) => {
    connections += 1;
    const server = connect(Number(target.port), target.hostname);
    const pair = { client, server, silent: false };
    open.add(pair);
    const forward = (from: Socket, to: Socket): void => {
      from.on('data', (bytes) => void (pair.silent || to.write(bytes)));
      from.on('error', () => undefined);
      from.on('close', () => void (pair.silent || to.destroy()));
    };
    forward(client, server);
    forward(server, client);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.toString(),
    connections: () => connections,
    swallow: () => {
      for (const pair of open) pair.silent = true;
    },
    close: async () => {
      for (const { client, server } of open) {
        client.destroy();
        server.destroy();
      }
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
