import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addressPolicy } from './address-policy.js';
import { Egress, EgressRefusedError } from './egress.js';

const answers: Record<string, (response: ServerResponse) => void> = {
  '/small': (response) => response.end('hello'),
  '/large': (response) => response.end('x'.repeat(5_000)),
  '/moved': (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
  '/silent': (response) => response.writeHead(200).write('begun'),
};

let server: Server;
let base: string;
let port: number;
let requests = 0;
const open = new Egress(addressPolicy([], { loopback: true }));
const closed = new Egress(addressPolicy([], { loopback: false }));

beforeAll(async () => {
  server = createServer((request, response) => {
    requests += 1;
    answers[request.url ?? '']?.(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  ({ port } = server.address() as AddressInfo);
  base = `http://127.0.0.1:${port}`;
});

afterAll(async () => {
  await Promise.all([open.close(), closed.close()]);
  server.closeAllConnections();
  await new Promise((end) => server.close(end));
});

const limits = { maxBytes: 1_000, timeoutMs: 5_000 };

describe('a request', () => {
  test('returns the whole answer', async () => {
    const answer = await open.request(`${base}/small`, limits);
    expect(answer).toMatchObject({ ok: true, value: { status: 200, body: Buffer.from('hello') } });
  });

  test.each([
    ['a literal private address', () => `http://10.0.0.1/`, 'address'],
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data', 'address'],
    ['loopback in another spelling', () => `http://0x7f.1:${port}/small`, 'address'],
    ['loopback as one number', () => `http://2130706433:${port}/small`, 'address'],
    ['a mapped loopback', () => `http://[::ffff:127.0.0.1]:${port}/small`, 'address'],
    ['a name that resolves to loopback', () => `http://localhost:${port}/small`, 'address'],
    ['another scheme', () => 'file:///etc/passwd', 'scheme'],
    ['credentials in the address', () => 'http://user:secret@example.com/', 'credentials'],
    ['no address at all', () => 'http://', 'not-a-url'],
  ])('refuses %s without a connection', async (_, url, reason) => {
    const before = requests;
    expect(await closed.request(url(), limits)).toMatchObject({ ok: false, failure: { _tag: 'EgressRefused', reason } });
    expect(requests).toBe(before);
  });

  test('does not follow a redirect', async () => {
    expect(await open.request(`${base}/moved`, limits)).toEqual({ ok: false, failure: { _tag: 'EgressRefused', reason: 'redirect', host: '127.0.0.1' } });
  });

  test('stops at its size', async () => {
    expect(await open.request(`${base}/large`, limits)).toEqual({ ok: false, failure: { _tag: 'EgressTooLarge', maxBytes: 1_000 } });
  });

  test('stops at its time, also in the middle of the answer', async () => {
    expect(await open.request(`${base}/silent`, { ...limits, timeoutMs: 100 })).toEqual({ ok: false, failure: { _tag: 'EgressTimedOut', timeoutMs: 100 } });
  });

  test('names a server that is not there', async () => {
    expect(await open.request('http://127.0.0.1:1/', limits)).toMatchObject({ ok: false, failure: { _tag: 'EgressUnreachable' } });
  });
});

describe('fetch', () => {
  test('throws the refusal itself, not a wrapped one', async () => {
    await expect(closed.fetch(`http://localhost:${port}/small`)).rejects.toBeInstanceOf(EgressRefusedError);
  });

  test('connects to a host that the operator allows, whatever it resolves to', async () => {
    const allowing = new Egress(addressPolicy(['localhost'], { loopback: false }));
    expect(await (await allowing.fetch(`http://localhost:${port}/small`)).text()).toBe('hello');
    await allowing.close();
  });
});

describe('check', () => {
  test.each([
    ['http://127.0.0.1:8000/v1', 'address'],
    ['http://localhost:8000/v1', 'address'],
    ['ftp://example.com', 'scheme'],
    ['nonsense', 'not-a-url'],
  ])('%s: %s', async (url, reason) => {
    expect(await closed.check(url)).toMatchObject({ reason });
  });

  test('passes a name that cannot be resolved now', async () => {
    expect(await closed.check('https://does-not-exist.invalid/v1')).toBeNull();
  });
});
