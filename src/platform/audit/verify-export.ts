import { open } from 'node:fs/promises';
import { beginWalk, emptyChain, endWalk, follow, type ChainBreak, type Walk } from '@domain/audit/verify.js';
import { linkHash } from './audit-view.js';
import { readExportLine } from './export-line.js';

/** `complete`: the last line is the head, so that nothing was cut off. `unreadable`: the first line that is no line of this export; it counts from 1. */
export type ExportReport = {
  readonly ok: boolean;
  readonly chain: string | null;
  readonly firstSequence: number | null;
  readonly length: number;
  readonly head: string;
  readonly checked: number;
  readonly complete: boolean;
  readonly firstBroken: ChainBreak | null;
  readonly unreadable: number | null;
};

/**
 * Verifies an export without a database, line by line: every entry is hashed anew, and the head is where the entries end. Parts of one chain may follow each
 * other in one file. What it begins with is taken at its word where it is not the chain's first entry: whoever has the part before knows that hash.
 */
export async function verifyExport(file: string): Promise<ExportReport> {
  let walk: Walk | null = null;
  let [chain, firstSequence, unreadable]: [string | null, number | null, number | null] = [null, null, null];
  let [complete, number] = [false, 0];
  const opened = await open(file);
  for await (const text of opened.readLines()) {
    number += 1;
    const line = readExportLine(text);
    if (!line || (chain !== null && line.chain !== chain)) {
      unreadable ??= number;
      complete = false;
      continue;
    }
    chain = line.chain;
    complete = line.kind === 'head';
    if (line.kind === 'head') walk = endWalk(walk ?? beginWalk(line.head.length === 0 ? emptyChain : line.head, null), line.head);
    else {
      const { sequence } = line.entry;
      firstSequence ??= sequence;
      walk = follow(walk ?? beginWalk(sequence === 1 ? emptyChain : { length: sequence - 1, hash: line.previous }, null), line.entry, linkHash);
    }
  }
  const { at, checked, firstBroken } = walk ?? beginWalk(emptyChain, null);
  return { ok: complete && firstBroken === null && unreadable === null, chain, firstSequence, length: at.length, head: at.hash, checked, complete, firstBroken, unreadable };
}
