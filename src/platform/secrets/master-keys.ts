import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import type { DataKey } from './sealed-value.js';

export type MasterKey = { readonly id: string; readonly key: Buffer };
export type WrappedKey = { readonly number: number; readonly wrapped: Buffer; readonly master_key_id: string };

const nonceBytes = 12;
const tagBytes = 16;
const binding = (organizationId: string, number: number): Buffer => Buffer.from(`organization_key:${organizationId}:${number}`);

/** The wrapped form is bound to its row: a key that is copied into another organization's row does not open. */
export function wrap(master: MasterKey, organizationId: string, data: DataKey): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', master.key, nonce);
  cipher.setAAD(binding(organizationId, data.number));
  const body = Buffer.concat([cipher.update(data.key), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

export function unwrap(masters: readonly MasterKey[], organizationId: string, row: WrappedKey): DataKey {
  const master = masters.find((key) => key.id === row.master_key_id);
  if (!master) throw new Error(`OPENBOT_ENCRYPTION_KEYS has no key named "${row.master_key_id}", which wraps a data key`);
  const decipher = createDecipheriv('aes-256-gcm', master.key, row.wrapped.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(binding(organizationId, row.number));
  decipher.setAuthTag(row.wrapped.subarray(nonceBytes, nonceBytes + tagBytes));
  return { number: row.number, key: Buffer.concat([decipher.update(row.wrapped.subarray(nonceBytes + tagBytes)), decipher.final()]) };
}

/** Keys for what belongs to no organization, derived from the master keys. They are numbered by a digest of the master key's name. */
export const platformKeys = (masters: readonly MasterKey[]): DataKey[] =>
  masters.map(({ id, key }) => ({
    number: createHash('sha256').update(id).digest().readUInt32BE(),
    key: createHmac('sha256', key).update('openbot platform records').digest(),
  }));

/** By this a database knows a master key again. Derived for nothing else, so that it opens nothing. */
export const checkValue = (key: Buffer): Buffer => createHmac('sha256', key).update('openbot master key check').digest();
