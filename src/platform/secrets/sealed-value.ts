import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import type { Binding } from '@engine/sealing.js';

/** A data key and the number under which sealed values name it. */
export type DataKey = { readonly number: number; readonly key: Buffer };

/** The value was changed, or belongs to another organization, table or record, or its key is gone. */
export class UnopenableValue extends Error {}

const version = 1;
const headerBytes = 5;
const nonceBytes = 12;
const tagBytes = 16;

/** Length before text: no two bindings give the same bytes, whatever characters they hold. */
const framed = (...parts: readonly string[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => {
      const text = Buffer.from(part);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      return [length, text];
    }),
  );

/** A key of its own for each record: random nonces of one key never come near the number at which two could meet. */
const recordKey = (data: DataKey, binding: Binding): Buffer =>
  createHmac('sha256', data.key)
    .update(framed('record', binding.table, binding.record))
    .digest();

/** Layout: version (1), key number (4), nonce (12), tag (16), ciphertext. The header and the binding are authenticated. */
export function sealValue(owner: string, data: DataKey, binding: Binding, plain: string | Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt8(version);
  header.writeUInt32BE(data.number, 1);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', recordKey(data, binding), nonce);
  cipher.setAAD(Buffer.concat([header, framed(owner, binding.table, binding.record)]));
  const body = Buffer.concat([cipher.update(typeof plain === 'string' ? Buffer.from(plain) : plain), cipher.final()]);
  return Buffer.concat([header, nonce, cipher.getAuthTag(), body]);
}

export function openValue(owner: string, keys: readonly DataKey[], binding: Binding, sealed: Buffer): Buffer {
  const bodyAt = headerBytes + nonceBytes + tagBytes;
  if (sealed.length < bodyAt || sealed.readUInt8() !== version) throw new UnopenableValue('not a sealed value');
  const number = sealed.readUInt32BE(1);
  const data = keys.find((key) => key.number === number);
  if (!data) throw new UnopenableValue('the key of a sealed value is not there');
  const decipher = createDecipheriv('aes-256-gcm', recordKey(data, binding), sealed.subarray(headerBytes, headerBytes + nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.concat([sealed.subarray(0, headerBytes), framed(owner, binding.table, binding.record)]));
  decipher.setAuthTag(sealed.subarray(headerBytes + nonceBytes, bodyAt));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(bodyAt)), decipher.final()]);
  } catch {
    throw new UnopenableValue('a sealed value was changed or belongs elsewhere');
  }
}
