import { join } from 'node:path';
import { measureAccess } from './access.js';
import { ContestantProcess } from './contestants/process.js';
import { measureIdle } from './idle.js';
import { measureKills } from './kills.js';
import { cases, measureCase, type Effort } from './no-op.js';
import { measureReaders } from './readers.js';
import { startServer, type BenchServer } from './server.js';
import { peerLines, wholeTable, type Line } from './table.js';
import { measureAddedLatency, measureProcess, measureToolTurns } from './turns.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const flags = process.argv.slice(2);
const only = flags.find((flag) => flag.startsWith('--only='))?.slice('--only='.length);
const quick = flags.includes('--quick');
const effort: Effort = quick ? { rounds: 3, forMs: 1_500 } : { rounds: 7, forMs: 4_000 };

/** The peers' packages are installed beside their modules, out of reach of ours. */
const peers = join(process.cwd(), 'test', 'bench', 'peers');
const modules = {
  openbot: join(__dirname, 'contestants', 'openbot.js'),
  dbos: join(peers, 'dbos.cjs'),
  restate: join(peers, 'restate.cjs'),
  'graphile-worker': join(peers, 'graphile-worker.cjs'),
};
const parts = ['turns', 'kills', 'readers', 'process', 'idle', 'access'];
const wants = (part: string): boolean => !only || only === part;

async function main(): Promise<void> {
  const server = await startServer();
  const lines: Line[] = [];
  try {
    if (!only || !parts.includes(only)) lines.push(...(await measureEngines(server)));
    if (wants('turns')) lines.push(...(await measureTurns(server)));
    if (wants('kills')) lines.push(...(await measureKills(await server.createDatabase('kills'), quick ? 1 : 5)));
    if (wants('readers')) lines.push(...(await measureReaders(await server.createDatabase('readers'), quick ? 5_000 : 20_000)));
    if (wants('access')) lines.push(...(await measureBoth(server)));
    if (wants('process')) say(`\n${await measureProcess(quick ? 1 : 5)}`);
    if (wants('idle')) say(`\n${await measureIdle(await server.createDatabase('idle'), quick ? 60_000 : 180_000)}`);
  } finally {
    await server.stop();
  }
  if (lines.length > 0) say(`\n${wholeTable(lines)}`);
}

/** What access costs, on a database for each of the two servers. */
async function measureBoth(server: BenchServer): Promise<readonly Line[]> {
  const urls = { checked: await server.createDatabase('checked'), unchecked: await server.createDatabase('unchecked') };
  return measureAccess(urls, quick ? 4 : 10, quick ? 1_500 : 4_000);
}

/** The whole server: what a turn costs and adds. It has no peer here. */
async function measureTurns(server: BenchServer): Promise<readonly Line[]> {
  const { details, lines } = await measureToolTurns(await server.createDatabase('turns'), quick ? 100 : 400);
  say(`\n${details}`);
  say(`\n${await measureAddedLatency(await server.createDatabase('latency'), quick ? 20 : 100)}`);
  return lines;
}

async function measureEngines(server: BenchServer): Promise<Line[]> {
  const wanted = cases.filter(({ name }) => !only || name.includes(only));
  const contestants: ContestantProcess[] = [];
  for (const [name, path] of Object.entries(modules)) {
    if (wanted.some(({ among }) => among.includes(name))) contestants.push(await ContestantProcess.start(name, path, await server.createDatabase(name.replace(/\W/g, '_'))));
  }
  // Long enough for compilers and caches, and for OpenBot's hints to find out that no other node listens.
  for (const contestant of contestants) {
    say(`warming up ${contestant.name}`);
    await contestant.take({ kind: 'loop', steps: 1, concurrency: 50, forMs: 5_000 });
  }
  const lines: Line[] = [];
  for (const one of wanted) lines.push(...peerLines(await measureCase(one, contestants, effort, say)));
  for (const contestant of contestants) await contestant.close();
  return lines;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
