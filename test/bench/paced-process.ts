import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { Admissions } from '@engine/admissions.js';
import type { BenchNode, Logins } from './contestants/openbot-node.js';
import { poolOf } from './contestants/openbot-node.js';
import type { PacedCursor } from './contestants/paced-work.js';

export type Tenant = { readonly organizationId: string; readonly projectId: string };
export type PacedProcess = { readonly child: ChildProcess; readonly backAt: number };

/** `backAt`: when the process had loaded, was connected, and asked for its name. */
export async function startPaced(logins: Logins, name: string): Promise<PacedProcess> {
  const child = fork(join(__dirname, 'contestants', 'paced-node.js'), [JSON.stringify(logins), name]);
  await once(child, 'message');
  const backAt = performance.now();
  await once(child, 'message');
  return { child, backAt };
}

export async function kill({ child }: PacedProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

export async function admitPaced({ api, wake }: Pick<BenchNode, 'api' | 'wake'>, context: Tenant, count: number, cursor: Omit<PacedCursor, 'done'>): Promise<string[]> {
  const admissions = new Admissions(poolOf(api));
  const ids = Array.from({ length: count }, () => uuidv7());
  const work = { context, workflow: 'paced', version: 1, cursor: { ...cursor, done: 0 }, subjectId: null, identityId: null, memberId: null, ready: true };
  await Promise.all(ids.map((id) => admissions.admit({ id, ...work })));
  wake.publish(ids);
  return ids;
}
