import { createHmac, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ok } from '@domain/result.js';
import type { OrganizationKey, Sealing } from '@engine/sealing.js';
import { platformContext } from '@engine/service-identity.js';
import { Config } from '@platform/config/config.js';
import { read, transact } from '@platform/database/transact.js';
import { processDatabase } from './process-database.js';
import { openValue, sealValue, type DataKey } from './sealed-value.js';
import { platformKeys, unwrap, wrap, type WrappedKey } from './master-keys.js';

/** A node reads keys anew after this time, and goes on without for twice as long. A new key seals only when it is older than that: by then every node opens it. */
const refreshMs = 300_000;
const sealsAfter = `${(refreshMs * 2) / 1000} seconds`;

type StoredKey = WrappedKey & { readonly seals: boolean };
type Loaded = { readonly key: OrganizationKey; readonly at: number };

/** The sealed values of one owner. The oldest key makes the MACs: they are compared for as long as receipts live, so they outlive rotation. */
function keyFrom(owner: string, keys: readonly DataKey[], seals: DataKey, oldest: DataKey): OrganizationKey {
  const macKey = createHmac('sha256', oldest.key).update('mac').digest();
  return {
    seal: (binding, plain) => sealValue(owner, seals, binding, plain),
    open: (binding, sealed) => openValue(owner, keys, binding, sealed),
    mac: (text) => createHmac('sha256', macKey).update(text).digest(),
  };
}

/** Holds every opened data key of the process; nothing else sees one. */
@Injectable()
export class Sealer implements Sealing {
  /** For records that belong to no organization, such as a failure before anybody was identified. */
  readonly platform: OrganizationKey;
  private readonly loaded = new Map<string, Loaded>();
  private readonly loading = new Map<string, Promise<OrganizationKey>>();

  constructor(
    @Inject(processDatabase) private readonly db: DataSource,
    private readonly config: Config,
  ) {
    const keys = platformKeys(config.encryptionKeys);
    const [first] = keys;
    if (!first) throw new Error('OPENBOT_ENCRYPTION_KEYS is empty');
    this.platform = keyFrom('platform', keys, first, first);
  }

  /** May read the database: call it before a transaction is open, never inside one. */
  keyOf(organizationId: string): OrganizationKey | Promise<OrganizationKey> {
    if (organizationId === platformContext.organizationId) return this.platform;
    const loaded = this.loaded.get(organizationId);
    if (!loaded) return this.load(organizationId);
    const ageMs = performance.now() - loaded.at;
    if (ageMs <= refreshMs) return loaded.key;
    // A key that cannot be read anew stays in use: a database that is down must not stop what needs no database.
    const fresh = this.load(organizationId).catch(() => loaded.key);
    return ageMs <= refreshMs * 2 ? loaded.key : fresh;
  }

  private load(organizationId: string): Promise<OrganizationKey> {
    const running = this.loading.get(organizationId);
    if (running) return running;
    const load = this.readOrCreate(organizationId).finally(() => this.loading.delete(organizationId));
    this.loading.set(organizationId, load);
    return load;
  }

  private async readOrCreate(organizationId: string): Promise<OrganizationKey> {
    const at = performance.now();
    let rows = await this.readKeys(organizationId);
    if (rows.length === 0) {
      await this.createFirst(organizationId);
      rows = await this.readKeys(organizationId);
    }
    const keys = rows.map((row) => unwrap(this.config.encryptionKeys, organizationId, row));
    const [oldest] = keys;
    if (!oldest) throw new Error('an organization key vanished while it was read');
    const newest = keys.findLast((_, index) => rows[index]?.seals);
    const key = keyFrom(organizationId, keys, newest ?? oldest, oldest);
    this.loaded.set(organizationId, { key, at });
    return key;
  }

  private readKeys(organizationId: string): Promise<StoredKey[]> {
    return read(this.db, { organizationId, projectId: null }, (tx) =>
      tx.query<StoredKey[]>(
        `select number, wrapped, master_key_id, created_at < clock_timestamp() - $2::interval as seals
         from organization_key where organization_id = $1 order by number`,
        [organizationId, sealsAfter],
      ),
    );
  }

  /** Two nodes may both be first: one row stays, and both read it afterwards, in a statement that sees the winner's commit. */
  private async createFirst(organizationId: string): Promise<void> {
    const [master] = this.config.encryptionKeys;
    if (!master) throw new Error('OPENBOT_ENCRYPTION_KEYS is empty');
    const wrapped = wrap(master, organizationId, { number: 1, key: randomBytes(32) });
    await transact(this.db, { organizationId, projectId: null }, async (tx) => {
      await tx.query(`insert into organization_key (organization_id, number, wrapped, master_key_id) values ($1, 1, $2, $3) on conflict do nothing`, [
        organizationId,
        wrapped,
        master.id,
      ]);
      return ok(undefined);
    });
  }
}
