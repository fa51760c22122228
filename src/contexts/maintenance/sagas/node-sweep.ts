import { platformContext, type ServiceIdentity } from '@engine/service-identity.js';

export const maintenance = { service: 'maintenance', context: platformContext } as const satisfies ServiceIdentity;
export const nodeSweep = { name: 'nodes', version: 1 } as const;

/** `seen`: the beat of each node at the last sweep. `nextAt`: milliseconds since the epoch; `null`: never swept yet. */
export type NodeSweepCursor = { readonly everyMs: number; readonly nextAt: number | null; readonly seen: Readonly<Record<string, string>> };
