import { join } from 'node:path';
import { ContestantProcess } from './contestants/process.js';
import { cases, measureCase, type Effort, type Row } from './no-op.js';
import { startServer, type BenchServer } from './server.js';
import { ratioTable } from './table.js';
import { measureAddedLatency, measureProcess, measureToolTurns } from './turns.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const flags = process.argv.slice(2);
const only = flags.find((flag) => flag.startsWith('--only='))?.slice('--only='.length);
const quick = flags.includes('--quick');
const effort: Effort = quick ? { rounds: 3, forMs: 1_500 } : { rounds: 7, forMs: 4_000 };

/** The peers' packages are installed beside their modules, out of reach of ours. */
const peers = join(process.cwd(), 'test', 'bench', 'peers');
const modules = { openbot: join(__dirname, 'contestants', 'openbot.js'), dbos: join(peers, 'dbos.cjs'), 'graphile-worker': join(peers, 'graphile-worker.cjs') };

async function main(): Promise<void> {
  const server = await startServer();
  try {
    if (only !== 'turns') await measureEngines(server);
    if (!only || only === 'turns') await measureServer(server);
  } finally {
    await server.stop();
  }
}

/** The whole server: what a turn costs and adds, and what the process takes. It has no peer here. */
async function measureServer(server: BenchServer): Promise<void> {
  say(`\n${await measureToolTurns(await server.createDatabase('turns'), quick ? 100 : 400)}`);
  say(`\n${await measureAddedLatency(await server.createDatabase('latency'), quick ? 20 : 100)}`);
  say(`\n${await measureProcess(quick ? 1 : 5)}`);
}

async function measureEngines(server: BenchServer): Promise<void> {
  const contestants: ContestantProcess[] = [];
  for (const [name, path] of Object.entries(modules)) contestants.push(await ContestantProcess.start(name, path, await server.createDatabase(name.replace(/\W/g, '_'))));
  // Long enough for compilers and caches, and for OpenBot's hints to find out that no other node listens.
  for (const contestant of contestants) {
    say(`warming up ${contestant.name}`);
    await contestant.take({ kind: 'loop', steps: 1, concurrency: 50, forMs: 5_000 });
  }
  const rows: Row[] = [];
  for (const one of cases.filter(({ name }) => !only || name.includes(only))) rows.push(await measureCase(one, contestants, effort, say));
  say(`\n${ratioTable(rows)}`);
  for (const contestant of contestants) await contestant.close();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
