import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toPublicId } from '@platform/ids/typeid.js';
import { emptyChain, type ChainHead } from '@domain/audit/verify.js';
import { findPlace, readChain } from '@contexts/audit/queries/entries.js';
import { exportChain, exportPageSize } from '@contexts/audit/queries/export-chain.js';
import { verifyExport, type ExportReport } from '@platform/audit/verify-export.js';
import { read } from '@platform/database/transact.js';
import { events, openChainWorld, type ChainWorld, type Tenant } from './chain-world.js';

let world: ChainWorld;
let folder: string;
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  [world, folder] = await Promise.all([openChainWorld(), mkdtemp(join(tmpdir(), 'openbot-audit-'))]);
  [tenant, other] = await Promise.all([world.createTenant(), world.createTenant()]);
  await world.tell(tenant, events(exportPageSize + 3));
  await world.tell(other, events(3));
  await world.link();
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await world.close();
});

async function exported({ organizationId, projectId }: Tenant, from: ChainHead = emptyChain): Promise<string[]> {
  const pages: string[] = [];
  const context = { organizationId, projectId };
  for await (const page of exportChain(organizationId, projectId, from, (after) => read(world.database.api, context, (tx) => readChain(tx, { projectId }, after, exportPageSize))))
    pages.push(page);
  // The entries of two pages, and the head.
  if (from === emptyChain && projectId === tenant.projectId) expect(pages).toHaveLength(3);
  return pages.join('').trimEnd().split('\n');
}

async function verified(lines: readonly string[]): Promise<ExportReport> {
  const file = join(folder, `${Math.random()}.ndjson`);
  await writeFile(file, `${lines.join('\n')}\n`);
  return verifyExport(file);
}

const length = exportPageSize + 3;
const edit = (lines: readonly string[], number: number, change: (line: Record<string, unknown>) => object): string[] =>
  lines.map((line, index) => (index === number - 1 ? JSON.stringify(change(JSON.parse(line) as Record<string, unknown>)) : line));

test('a whole export is as it was written', async () => {
  const report = await verified(await exported(tenant));
  expect(report).toMatchObject({
    ok: true,
    chain: toPublicId('project', tenant.projectId),
    firstSequence: 1,
    length,
    checked: length,
    complete: true,
    firstBroken: null,
    unreadable: null,
  });
  expect(report.head).toBe((await world.verify(tenant, 'project')).head.hash);
});

test('an empty chain is a head alone', async () => {
  const empty = await world.createTenant();
  expect(await verified(await exported(empty))).toMatchObject({ ok: true, length: 0, checked: 0, complete: true });
});

test('a part goes on where the one before was cut, alone and behind it', async () => {
  const whole = await exported(tenant);
  const from = await read(world.database.api, tenant, (tx) => findPlace(tx, tenant, 100));
  const rest = await exported(tenant, from!);
  expect(rest).toEqual(whole.slice(100));
  expect(await verified(rest)).toMatchObject({ ok: true, firstSequence: 101, length, checked: length - 100 });
  expect(await verified([...whole.slice(0, 100), ...rest])).toMatchObject({ ok: true, firstSequence: 1, checked: length });
});

describe('what was done to a file shows', () => {
  test.each<readonly [string, (lines: readonly string[], foreign: readonly string[]) => readonly string[], Partial<ExportReport>]>([
    ['a changed field', (lines) => edit(lines, 5, (line) => ({ ...line, action: 'bot.deleted' })), { firstBroken: { sequence: 5, reason: 'changed' } }],
    ['a changed target', (lines) => edit(lines, 5, (line) => ({ ...line, target: toPublicId('bot', tenant.projectId) })), { firstBroken: { sequence: 5, reason: 'changed' } }],
    ['a changed first entry', (lines) => edit(lines, 1, (line) => ({ ...line, previous: '1'.repeat(64), at: 0 })), { firstBroken: { sequence: 1, reason: 'changed' } }],
    ['a removed line', (lines) => lines.toSpliced(4, 1), { firstBroken: { sequence: 5, reason: 'missing' } }],
    ['lines that changed places', (lines) => [...lines.slice(0, 4), lines[5]!, lines[4]!, ...lines.slice(6)], { firstBroken: { sequence: 5, reason: 'missing' } }],
    ['a line that is there twice', (lines) => [...lines.slice(0, 5), ...lines.slice(4)], { firstBroken: { sequence: 6, reason: 'missing' } }],
    ['a cut end', (lines) => lines.slice(0, 9), { firstBroken: null, complete: false }],
    ['a cut end with the head behind it', (lines) => [...lines.slice(0, 9), lines.at(-1)!], { firstBroken: { sequence: 10, reason: 'head' } }],
    ['a line in half', (lines) => [...lines.slice(0, 4), lines[4]!.slice(0, 50), ...lines.slice(5)], { firstBroken: { sequence: 5, reason: 'missing' }, unreadable: 5 }],
    ['a line of another chain', (lines, foreign) => [...lines.slice(0, 4), foreign[0]!, ...lines.slice(4)], { unreadable: 5 }],
    ['nothing', () => [], { complete: false, unreadable: 1, chain: null }],
  ])('%s', async (_, change, found) => {
    expect(await verified(change(await exported(tenant), await exported(other)))).toMatchObject({ ok: false, ...found });
  });
});

test('a file that is not there is said to be missing', async () => {
  await expect(verifyExport(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
});
