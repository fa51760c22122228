import { canonicalText } from './canonical.js';
import type { AuditEntry } from './entry.js';

/** How far a chain is: how many entries, and the hash of the last. */
export type ChainHead = { readonly length: number; readonly hash: string };
/** Before the first entry of a chain. */
export const emptyChain: ChainHead = { length: 0, hash: '0'.repeat(64) };

/**
 * `changed`: the entry is not what was hashed, or follows another one. `missing`: its place is empty. `head`: the chain does not end where its head
 * says. `known-head`: it does not go through a head that was known before, so that it was written anew or cut.
 */
export const breakReasons = ['changed', 'missing', 'head', 'known-head'] as const;
export type ChainBreak = { readonly sequence: number; readonly reason: (typeof breakReasons)[number] };

/** SHA-256 of the bytes of `previous`, which is hexadecimal, followed by those of `text` in UTF-8; hexadecimal. */
export type LinkHash = (previous: string, text: string) => string;

/** A chain that is followed entry by entry: where it is, what was looked at, and the first break. */
export type Walk = { readonly at: ChainHead; readonly checked: number; readonly known: ChainHead | null; readonly firstBroken: ChainBreak | null };

/** `from`: the place behind which the walk begins. `known`: a head that the chain had at some time, from an export that lies elsewhere. */
export const beginWalk = (from: ChainHead, known: ChainHead | null): Walk => passKnown({ at: from, checked: 0, known, firstBroken: null });

/** The next entry in the order of places. What comes behind a break is checked against what it says of itself. */
export function follow(walk: Walk, entry: AuditEntry, hashOf: LinkHash): Walk {
  const found = findBreak(walk.at, entry, hashOf);
  return passKnown({ ...walk, at: { length: entry.sequence, hash: entry.hash }, checked: walk.checked + 1, firstBroken: walk.firstBroken ?? found });
}

/** The chain ends here, and `stored` says where it should. */
export function endWalk({ at, known, firstBroken, checked }: Walk, stored: ChainHead): Walk {
  const atHead = stored.length === at.length && stored.hash === at.hash;
  const end: ChainBreak | null = atHead ? null : { sequence: Math.min(stored.length, at.length) + 1, reason: 'head' };
  return { at, checked, known: null, firstBroken: firstBroken ?? end ?? (known && { sequence: at.length + 1, reason: 'known-head' }) };
}

function findBreak(at: ChainHead, entry: AuditEntry, hashOf: LinkHash): ChainBreak | null {
  const sequence = at.length + 1;
  if (entry.sequence !== sequence) return { sequence, reason: 'missing' };
  return hashOf(at.hash, canonicalText(entry)) === entry.hash ? null : { sequence, reason: 'changed' };
}

function passKnown(walk: Walk): Walk {
  const { at, known, firstBroken } = walk;
  if (known?.length !== at.length) return walk;
  return { ...walk, known: null, firstBroken: firstBroken ?? (known.hash === at.hash ? null : { sequence: at.length, reason: 'known-head' }) };
}
