const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtemp, readdir, rm } = require('node:fs/promises');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

// The SDK asks for what Node has from 22 on.
Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};
const restate = require('@restatedev/restate-sdk');

const binary = () => require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** One request over kept connections; rejects whatever is not a success. */
function post(agent, port, path, body) {
  return new Promise((resolve, reject) => {
    const bytes = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) };
    const request = http.request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => (response.statusCode < 300 ? resolve(text) : reject(new Error(`${path}: ${response.statusCode} ${text}`))));
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

async function untilItWorks(attempt, left = 300) {
  try {
    return await attempt();
  } catch (error) {
    if (left === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return untilItWorks(attempt, left - 1);
  }
}

/**
 * Restate as one durable node with its defaults (every log write is synced: `rocksdb-disable-wal-fsync = false`), in a folder of its own. This
 * process serves the handler over HTTP/2 with streams both ways, as the SDK does it, and calls it over the ingress. PostgreSQL has no part in it.
 */
exports.open = async () => {
  const starts = new Map();
  const noOp = async (context, steps) => {
    for (let step = 1; step <= steps; step += 1) await context.run(`step ${step}`, () => undefined);
  };
  const timed = async (context, name) => {
    starts.get(name)?.();
    await noOp(context, 1);
  };
  const service = restate.service({ name: 'Bench', handlers: { noOp, timed } });
  const endpoint = http2.createServer(restate.createEndpointHandler({ services: [service], logger: () => undefined }));
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');

  const folder = await mkdtemp(join(tmpdir(), 'bench-restate-'));
  const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
  const env = {
    ...process.env,
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_LOG_FILTER: 'error,octocrab=off',
    RESTATE_DISABLE_TELEMETRY: 'true',
  };
  const server = spawn(binary(), ['--node-name', 'bench', '--base-dir', folder, '--no-logo'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  process.on('exit', () => server.kill('SIGKILL'));

  const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
  await untilItWorks(() => post(agent, admin, '/deployments', { uri: `http://127.0.0.1:${endpoint.address().port}` }));
  await untilItWorks(() => post(agent, ingress, '/Bench/noOp', 1));
  if ((await readdir(folder)).length === 0) throw new Error('restate-server keeps nothing on disk');

  let calls = 0;
  return {
    run: (steps) => post(agent, ingress, '/Bench/noOp', steps),
    msToStart: async () => {
      const name = String((calls += 1));
      const begin = performance.now();
      let ms = 0;
      starts.set(name, () => (ms = performance.now() - begin));
      await post(agent, ingress, '/Bench/timed', name);
      starts.delete(name);
      return ms;
    },
    close: async () => {
      agent.destroy();
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      endpoint.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
