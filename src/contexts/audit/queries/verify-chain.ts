import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { beginWalk, emptyChain, endWalk, follow, type ChainHead, type Walk } from '@domain/audit/verify.js';
import type { TenantContext } from '@domain/tenancy.js';
import { linkHash } from '@platform/audit/audit-view.js';
import { read } from '@platform/database/transact.js';
import { countUnlinked, readChain, type Chain } from './entries.js';

const pageSize = 500;

/** `unlinked`: entries that are stored and have no place in the chain yet. */
export type Verification = Pick<Walk, 'checked' | 'firstBroken'> & { readonly head: ChainHead; readonly unlinked: number };

/**
 * Follows a chain from its beginning and hashes every entry anew, page by page. `known`: a head of it that lies elsewhere, without which nobody can tell a
 * chain that was written anew, or cut together with its head, from one that was not.
 */
export async function verifyChain(db: DataSource, context: TenantContext, chain: Chain, known: ChainHead | null): Promise<Verification> {
  let walk = beginWalk(emptyChain, known);
  for (;;) {
    const { entries, head } = await read(db, context, (tx) => readChain(tx, chain, walk.at.length, pageSize));
    walk = entries.reduce((at, entry) => follow(at, entry, linkHash), walk);
    if (entries.length === pageSize) {
      // Others have their turn between pages.
      await nextTurn();
      continue;
    }
    const { checked, firstBroken } = endWalk(walk, head);
    return { checked, firstBroken, head, unlinked: await read(db, context, (tx) => countUnlinked(tx, chain)) };
  }
}
