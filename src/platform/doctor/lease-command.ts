import { Client } from 'pg';
import type { Config } from '@platform/config/config.js';
import { fromPublicId, toPublicId } from '@platform/ids/typeid.js';
import { StartFailure } from '@platform/local/start-failure.js';
import { findLease, releaseLease, type LeaseRow, type ReleaseFailure } from './release-lease.js';
import { asWorker } from './worker-login.js';

const viewOf = (lease: LeaseRow): object => ({
  leaseId: toPublicId('lease', lease.id),
  state: lease.state,
  kind: lease.kind,
  resource: lease.resource,
  node: lease.owner,
  nodeLives: lease.holder_lives,
  execution: toPublicId('execution', lease.execution_id),
  organization: toPublicId('organization', lease.organization_id),
  project: toPublicId('project', lease.project_id),
  error: lease.error_id && toPublicId('error', lease.error_id),
  openedAt: lease.opened_at,
  closingAt: lease.closing_at,
  closedAt: lease.closed_at,
  releasedBy: lease.released_by,
});

function lineOf(leaseId: string, failure: ReleaseFailure): string {
  switch (failure._tag) {
    case 'LeaseNotFound':
      return `There is no lease ${leaseId} in this database.`;
    case 'LeaseHeld':
      return `The process that opened ${leaseId} runs as node "${failure.node}" and may still close it: remove what keeps it from closing, or stop that process first.`;
    case 'LeaseClosed':
      return `${leaseId} is closed already${failure.releasedBy === null ? '' : `, by the word of ${failure.releasedBy}`}: nothing was changed.`;
  }
}

/** Shows a lease; with `releasedBy` it records first that this person has looked, and that the thing is gone. */
export async function lease(config: Config, leaseId: string, releasedBy: string | null): Promise<string> {
  const id = fromPublicId('lease', leaseId);
  if (id === null) throw new StartFailure('The lease id is not one: copy it whole, as the doctor shows it (lease_…).');
  return asWorker(config, async (url) => {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 10_000, application_name: 'openbot lease' });
    client.on('error', () => undefined);
    await client.connect();
    try {
      if (releasedBy !== null) {
        const released = await releaseLease(client, config.leaseMs, id, releasedBy);
        if (!released.ok) throw new StartFailure(lineOf(leaseId, released.failure));
        return JSON.stringify(viewOf(released.value), null, 2);
      }
      const found = await findLease(client, id);
      if (!found) throw new StartFailure(lineOf(leaseId, { _tag: 'LeaseNotFound' }));
      return JSON.stringify(viewOf(found), null, 2);
    } finally {
      await client.end().catch(() => undefined);
    }
  });
}
