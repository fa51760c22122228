import type { DataSource } from 'typeorm';
import { beginWalk, emptyChain, endWalk, follow, type ChainHead, type Walk } from '@domain/audit/verify.js';
import type { TenantContext } from '@domain/tenancy.js';
import { linkHash } from '@platform/audit/audit-view.js';
import { read } from '@platform/database/transact.js';
import type { LongReads } from '../long-reads.js';
import { countUnlinked, readChain, type Chain } from './entries.js';

/** So few that nobody notices the time in which they are hashed. */
const pageSize = 250;

/** `unlinked`: entries that are stored and have no place in the chain yet. */
export type Verification = Pick<Walk, 'checked' | 'firstBroken'> & { readonly head: ChainHead; readonly unlinked: number };

export type Wanted = {
  readonly context: TenantContext;
  readonly chain: Chain;
  /** A head that lies elsewhere, without which nobody can tell a chain that was written anew, or cut together with its head, from one that was not. */
  readonly known: ChainHead | null;
};

/** Follows a chain from its beginning and hashes every entry anew, page by page. Rejects where `stop` says so. */
export async function verifyChain(db: DataSource, reads: LongReads, { context, chain, known }: Wanted, stop: AbortSignal): Promise<Verification> {
  let walk = beginWalk(emptyChain, known);
  for (;;) {
    stop.throwIfAborted();
    const { length, head } = await reads.page(async () => {
      const page = await read(db, context, (tx) => readChain(tx, chain, walk.at.length, pageSize));
      walk = page.entries.reduce((at, entry) => follow(at, entry, linkHash), walk);
      return { length: page.entries.length, head: page.head };
    });
    if (length === pageSize) continue;
    const { checked, firstBroken } = endWalk(walk, head);
    return { checked, firstBroken, head, unlinked: await read(db, context, (tx) => countUnlinked(tx, chain)) };
  }
}
