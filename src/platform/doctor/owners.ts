import { setTimeout as pause } from 'node:timers/promises';
import type { NodeBeat, Owner } from '@engine/owner-watch.js';
import type { Ask } from './checks.js';

const keyOf = ({ owner, epoch }: Owner): string => `${owner}\n${epoch}`;

/**
 * The owners that hold work and do not live: the beat of each is watched, as other nodes watch it, on this process's own clock. Answers as soon as every
 * owner was seen to beat, a third of a lease for healthy ones; who has not for a whole lease, and still holds what it held, is lifeless.
 */
export async function lifelessOwners(ask: Ask, leaseMs: number): Promise<readonly Owner[]> {
  const startedAt = performance.now();
  const first = new Map<string, string | null>();
  for (let look = 0; ; look += 1) {
    // Owners first: a node that claims was in the list of nodes before.
    const owners = await ask<Owner>('select owner, epoch from list_owners()');
    const nodes = await ask<NodeBeat>('select name, epoch, beat from node');
    const beatOf = ({ owner, epoch }: Owner): string | null => nodes.find((node) => node.name === owner && node.epoch === epoch)?.beat ?? null;
    if (look === 0) for (const owner of owners) first.set(keyOf(owner), beatOf(owner));
    const pending = owners.filter((owner) => first.has(keyOf(owner)) && beatOf(owner) === first.get(keyOf(owner)));
    if (pending.length === 0 || performance.now() - startedAt >= leaseMs) return pending;
    await pause(Math.min(250, leaseMs / 10));
  }
}

/** What is found for a whole lease, looked at again and again: between two of its connections a healthy node looks like one that is gone. */
export async function lasting<T extends { readonly count: number }>(look: () => Promise<T | null>, leaseMs: number): Promise<T | null> {
  const startedAt = performance.now();
  for (;;) {
    const found = await look();
    if (!found || found.count === 0 || performance.now() - startedAt >= leaseMs) return found;
    await pause(Math.min(250, leaseMs / 10));
  }
}
