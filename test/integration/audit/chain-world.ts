import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { AuditEvent } from '@domain/audit/entry.js';
import type { ChainHead } from '@domain/audit/verify.js';
import { ok } from '@domain/result.js';
import { RecordAuditHandler } from '@contexts/audit/commands/record-audit.command.js';
import { RecordAuditCommand } from '@contexts/audit/public/record-audit.command.js';
import { LongReads } from '@contexts/audit/long-reads.js';
import { verifyChain, type Verification } from '@contexts/audit/queries/verify-chain.js';
import { transact } from '@platform/database/transact.js';
import { openTestDatabase, type TestDatabase } from '@test/support/database.js';

export type Tenant = { readonly organizationId: string; readonly projectId: string };

export type ChainWorld = {
  readonly database: TestDatabase;
  readonly superuser: Pool;
  createTenant(): Promise<Tenant>;
  /** Tells events in one transaction, which commits after `before`. */
  tell(tenant: Tenant, events: readonly AuditEvent[], before?: () => Promise<void>): Promise<void>;
  /** Links until nothing is left; answers how many entries were looked at. */
  link(): Promise<number>;
  verify(tenant: Tenant, chain: 'organization' | 'project', known?: ChainHead): Promise<Verification>;
  close(): Promise<void>;
};

export async function openChainWorld(): Promise<ChainWorld> {
  const database = await openTestDatabase(12);
  const superuser = new Pool({ connectionString: database.url, max: 4 });
  const recorder = new RecordAuditHandler();
  return {
    database,
    superuser,
    async createTenant() {
      const tenant = { organizationId: uuidv7(), projectId: uuidv7() };
      await superuser.query(`insert into organization (id, name) values ($1, 'Example')`, [tenant.organizationId]);
      await superuser.query(`insert into project (organization_id, id, name) values ($1, $2, 'Default')`, [tenant.organizationId, tenant.projectId]);
      return tenant;
    },
    async tell(tenant, events, before = async () => undefined) {
      await transact(database.api, tenant, async (tx) => {
        await recorder.execute(new RecordAuditCommand(tx, { kind: 'operator' }, ...events));
        await before();
        return ok(null);
      });
    },
    async link() {
      for (let all = 0; ;) {
        const [row] = await database.worker.query<{ found: number }[]>('select link_audit(50) as found');
        if (row!.found === 0) return all;
        all += row!.found;
      }
    },
    verify: (tenant, chain, known) =>
      verifyChain(
        database.api,
        new LongReads(),
        { context: tenant, chain: { projectId: chain === 'project' ? tenant.projectId : null }, known: known ?? null },
        new AbortController().signal,
      ),
    async close() {
      await superuser.end();
      await database.close();
    },
  };
}

export const event = (): AuditEvent => ({ action: 'bot.created', target: uuidv7(), detail: {} });
export const events = (count: number): AuditEvent[] => Array.from({ length: count }, event);
