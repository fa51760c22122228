import type { ChainHead } from '@domain/audit/verify.js';
import type { AuditEntry } from '@domain/audit/entry.js';
import { toExportHead, toExportLine } from '@platform/audit/export-line.js';

/** So few that nobody notices the time in which they are written. */
export const exportPageSize = 200;

type ReadPage = (after: number) => Promise<{ readonly entries: readonly AuditEntry[]; readonly head: ChainHead }>;

/**
 * The lines of an export, a page at a time: whoever takes them slowly is read for slowly, and nothing is held between pages. Each entry names the hash
 * before its own, so that any part of a chain can be verified; the last line is the head, and a file without it was cut.
 */
export async function* exportChain(organizationId: string, projectId: string | null, from: ChainHead, readPage: ReadPage): AsyncGenerator<string> {
  let at = from;
  for (;;) {
    const { entries, head } = await readPage(at.length);
    const lines = entries.map((entry) => {
      const line = toExportLine(entry, at.hash);
      at = { length: entry.sequence, hash: entry.hash };
      return `${JSON.stringify(line)}\n`;
    });
    if (lines.length > 0) yield lines.join('');
    if (entries.length === exportPageSize) continue;
    yield `${JSON.stringify(toExportHead(organizationId, projectId, head))}\n`;
    return;
  }
}
