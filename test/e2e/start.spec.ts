import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { migrationTable } from '@platform/database/migrate.js';
import type { LocalState } from '@platform/local/local-state.js';
import { livePostmaster, stopPostmaster } from '@platform/local/postmaster.js';
import { builtServer } from '@test/support/built-server.js';
import { openTestDatabase } from '@test/support/database.js';
import { eventually } from '@test/support/eventually.js';

type Run = { readonly process: ChildProcess; readonly ended: Promise<number | null>; out(): string; errors(): string; says(text: string): Promise<void> };

let built: string;
const folders: string[] = [];
const runs: Run[] = [];
const isRoot = process.getuid?.() === 0;

beforeAll(async () => {
  built = await builtServer();
});

const dataOf = async (folder: string): Promise<string> => {
  const inside = join(folder, '.openbot', 'postgres', 'data');
  return readlink(inside).catch(() => inside);
};

afterAll(async () => {
  for (const run of runs) if (run.process.exitCode === null) run.process.kill('SIGKILL');
  for (const folder of folders) {
    const data = await dataOf(folder);
    const left = await livePostmaster(data);
    if (left) await stopPostmaster(left.pid);
    // Root's data of a closed folder lie outside of it, in a place of their own.
    if (!data.startsWith(folder)) await rm(dirname(data), { recursive: true, force: true });
    await rm(folder, { recursive: true, force: true });
  }
});

/** A folder that the program has never been started in. `closed`: nobody but its owner may enter it. */
async function newFolder(closed: boolean): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openbot-start-'));
  await chmod(folder, closed ? 0o700 : 0o755);
  folders.push(folder);
  return folder;
}

function start(folder: string, env: Readonly<Record<string, string>> = {}, program: readonly string[] = ['main.js']): Run {
  const child = spawn(process.execPath, [join(built, 'src', program[0]!), ...program.slice(1)], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', OPENBOT_LOG_LEVEL: 'warn', OPENBOT_NODE: 'start-test', ...env },
  });
  const said = { out: '', errors: '' };
  const waiting = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => ((said.out += text), waiting.forEach((look) => look())));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.errors += text));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const says = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => void (said.out.includes(text) && resolve());
      waiting.add(look);
      look();
      void ended.then((code) => reject(new Error(`ended with ${code} before it said "${text}": ${said.out}${said.errors}`)));
    });
  const run: Run = { process: child, ended, out: () => said.out, errors: () => said.errors, says };
  runs.push(run);
  return run;
}

async function ready(folder: string): Promise<{ readonly run: Run; readonly state: LocalState }> {
  const run = start(folder);
  await run.says('Ctrl-C stops it.');
  return { run, state: JSON.parse(await readFile(join(folder, '.openbot', 'local.json'), 'utf8')) as LocalState };
}

const who = async ({ url, token }: LocalState): Promise<number> => (await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;
const identity = ({ url: _, ...ids }: LocalState): object => ids;
const postgresOf = async (folder: string): Promise<number | null> => (await livePostmaster(await dataOf(folder)))?.pid ?? null;

/** What `npm start` asks before it builds. */
async function mayBuild(folder: string): Promise<{ readonly code: number | null; readonly errors: string }> {
  const child = spawn(process.execPath, [join(__dirname, '../../config/before-build.cjs')], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, errors };
}

/** It ended with 1, after one line on stderr that matches and that holds no secret. */
async function expectRefusal(run: Run, line: RegExp): Promise<void> {
  expect({ code: await run.ended, errors: run.errors() }).toEqual({ code: 1, errors: expect.stringMatching(/^OpenBot cannot start\. [^\n]+\n$/) });
  expect(run.errors()).toMatch(line);
  expect(run.out() + run.errors()).not.toContain('hunter2');
}

test.each([
  ['in a folder that others can enter', false],
  ['in a folder that nobody else can enter', true],
])(
  '%s: first start, second start, kill, recovery and end keep one identity and its data',
  async (_, closed) => {
    const folder = await newFolder(closed);
    const first = await ready(folder);
    expect(first.run.out()).toContain('Creating the database');
    expect(first.run.out()).toContain(first.state.token);
    expect(await who(first.state)).toBe(200);
    for (const file of ['local.json', 'encryption-key', join('postgres', 'server.json')]) {
      const { mode, uid } = await stat(join(folder, '.openbot', file));
      expect([file, mode & 0o777, uid]).toEqual([file, 0o600, process.getuid?.()]);
    }
    if (isRoot) expect((await dataOf(folder)).startsWith(folder)).toBe(!closed);

    await expectRefusal(start(folder), /already runs in .*\.openbot at http:\/\/127\.0\.0\.1:\d+/);
    expect(await who(first.state)).toBe(200);
    // Who only looks does so beside the server.
    const doctor = start(folder, {}, ['cli.js', 'doctor']);
    expect({ code: await doctor.ended, errors: doctor.errors() }).toEqual({ code: 0, errors: '' });
    expect(doctor.out()).toContain('All is well.');
    const missing = start(folder, {}, ['cli.js', 'error', 'err_01k30dw000fay8vvr14d2pf2db']);
    expect({ code: await missing.ended, errors: missing.errors() }).toEqual({ code: 1, errors: expect.stringMatching(/^There is no error record [^\n]+\n$/) });
    // A build would take the running server's files from it.
    expect(await mayBuild(folder)).toEqual({ code: 1, errors: expect.stringMatching(/^OpenBot already runs in [^\n]+ at http:\/\/127\.0\.0\.1:\d+: [^\n]+\n$/) });
    expect(await who(first.state)).toBe(200);
    first.run.process.kill('SIGINT');
    // npm repeats the Ctrl-C of its terminal.
    await first.run.says('Stopping');
    first.run.process.kill('SIGINT');
    expect(await first.run.ended).toBe(0);
    expect(await postgresOf(folder)).toBeNull();

    const second = await ready(folder);
    expect(identity(second.state)).toEqual(identity(first.state));
    second.run.process.kill('SIGKILL');
    await second.run.ended;
    expect(await mayBuild(folder)).toEqual({ code: 0, errors: '' });
    const orphan = await postgresOf(folder);
    expect(orphan).not.toBeNull();

    const third = await ready(folder);
    expect(third.run.out()).toContain('Going on with the PostgreSQL that the last run left behind');
    expect(await postgresOf(folder)).toBe(orphan);
    third.run.process.kill('SIGKILL');
    await third.run.ended;
    process.kill(orphan ?? 0, 'SIGKILL');

    const fourth = await ready(folder);
    expect(identity(fourth.state)).toEqual(identity(first.state));
    expect(await who(fourth.state)).toBe(200);
    fourth.run.process.kill('SIGTERM');
    expect(await fourth.run.ended).toBe(0);
    expect(await postgresOf(folder)).toBeNull();
  },
  240_000,
);

test('a PostgreSQL that is killed under it is brought back, and stopped with it', async () => {
  const folder = await newFolder(false);
  const { run, state } = await ready(folder);
  const killed = (await postgresOf(folder)) ?? 0;
  process.kill(killed, 'SIGKILL');
  await run.says('PostgreSQL runs again');
  await eventually(
    () => who(state),
    (status) => status === 200,
  );
  expect(await postgresOf(folder)).not.toBe(killed);
  run.process.kill('SIGTERM');
  expect({ code: await run.ended, errors: run.errors() }).toEqual({ code: 0, errors: '' });
  expect(await postgresOf(folder)).toBeNull();
}, 120_000);

test.each([
  ['half a file', () => '{"password"'],
  ['no password', () => '{}'],
  ['another password', (text: string) => JSON.stringify({ ...(JSON.parse(text) as object), password: 'hunter2' })],
])(
  'a secret of the database with %s is named, with what to do, and leaves no server behind',
  async (_, spoil) => {
    const folder = await newFolder(false);
    const { run } = await ready(folder);
    run.process.kill('SIGTERM');
    await run.ended;
    const file = join(folder, '.openbot', 'postgres', 'server.json');
    await writeFile(file, spoil(await readFile(file, 'utf8')));
    await expectRefusal(start(folder), /server\.json is damaged: put it back, or remove /);
    expect(await postgresOf(folder)).toBeNull();
  },
  120_000,
);

test('told to stop in its first start, it leaves no process, and the next start succeeds', async () => {
  const folder = await newFolder(false);
  const run = start(folder);
  await run.says('Creating the database');
  run.process.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  expect(run.errors()).toBe('');
  expect(await postgresOf(folder)).toBeNull();
  const { run: next, state } = await ready(folder);
  expect(await who(state)).toBe(200);
  next.process.kill('SIGTERM');
  expect(await next.ended).toBe(0);
}, 120_000);

test('a taken port is named, with what to do, and the database is stopped again', async () => {
  const folder = await newFolder(false);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    await expectRefusal(start(folder, { PORT: String(port) }), new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is taken: .* PORT=\\d+`));
    expect(await postgresOf(folder)).toBeNull();
  } finally {
    server.close();
  }
}, 120_000);

test.each<[what: string, env: Readonly<Record<string, string>>, line: RegExp]>([
  ['a bad variable', { PORT: 'hunter2' }, /PORT must be a whole number/],
  ['an unknown variable', { OPENBOT_LEASE: 'hunter2' }, /OPENBOT_LEASE is not a setting/],
  ['production without a database', { NODE_ENV: 'production' }, /DATABASE_URL must be set/],
  [
    'a database that is down',
    { DATABASE_URL: 'postgres://somebody:hunter2@127.0.0.1:1/openbot' },
    /The database at 127\.0\.0\.1:1\/openbot cannot be used \(ECONNREFUSED\): .* DATABASE_URL/,
  ],
])('%s is refused in one line', async (_, env, line) => {
  await expectRefusal(start(await newFolder(false), env), line);
});

test('a database that is newer than the program, or has other keys, is refused in one line', async () => {
  const database = await openTestDatabase(1);
  try {
    const { DataSource } = await import('typeorm');
    const admin = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    await admin.query(`insert into ${migrationTable} (timestamp, name) values (9999999999999, 'Later9999999999999')`);
    await admin.destroy();
    const env = { DATABASE_URL: database.url, DATABASE_API_URL: database.apiUrl, DATABASE_WORKER_URL: database.workerUrl };
    const keys = { OPENBOT_ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}` };
    await expectRefusal(start(await newFolder(false), { ...env, ...keys }), /newer than this program .*Later9999999999999/);
    // The key of its own folder is not the database's, whatever else is wrong with it.
    await expectRefusal(
      start(await newFolder(false), env),
      /OPENBOT_ENCRYPTION_KEYS are not the keys of the database at .*All processes of one database share its keys\..*\.openbot/,
    );
  } finally {
    await database.close();
  }
});
