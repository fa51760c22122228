import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** What a text begins with says what it is to whoever finds it: a user token, an API key, a session, an invitation, a link that sets a password, a way to an identity provider and back, or the token of a directory. */
export type TokenStart = 'obt_' | 'obk_' | 'obs_' | 'obi_' | 'obl_' | 'oba_' | 'obd_';
const startLength = 4;
const organizationBytes = 16;
const secretBytes = 24;
const checkAt = organizationBytes + secretBytes;
const totalBytes = checkAt + 4;
const form = /^ob[tksilad]_[A-Za-z0-9_-]{59}$/;

/** Characters that a list may show and a lookup may use: the organization and 28 bits of the secret, which leave 164 to guess. */
const prefixLength = startLength + 26;

/** A token is found by `prefix`, which begins with `start`, in `organizationId`, and proven by `hash`. */
export type ParsedToken = { readonly start: TokenStart; readonly organizationId: string; readonly prefix: string; readonly hash: Buffer };

const sha256 = (secret: Buffer): Buffer => createHash('sha256').update(secret).digest();

const textOf = (start: string, named: Buffer): string => {
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return start + Buffer.concat([named, check]).toString('base64url');
};

const toUuid = (bytes: Buffer): string => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/**
 * Its start, and base64url of organization (16 bytes), secret (24) and CRC-32 of both. The organization inside lets the lookup run under that
 * tenant's row-level security; the checksum turns a mistyped token away without a query. The hash needs no salt: the secret is random.
 */
export function newToken(organizationId: string, start: TokenStart = 'obt_'): { readonly token: string; readonly prefix: string; readonly hash: Buffer } {
  const secret = randomBytes(secretBytes);
  const token = textOf(start, Buffer.concat([Buffer.from(organizationId.replaceAll('-', ''), 'hex'), secret]));
  return { token, prefix: token.slice(0, prefixLength), hash: sha256(secret) };
}

export function parseToken(token: string): ParsedToken | null {
  if (!form.test(token)) return null;
  const bytes = Buffer.from(token.slice(startLength), 'base64url');
  // One spelling per token: base64url leaves two bits over, and the checksum does not cover them.
  if (bytes.length !== totalBytes || textOf(token.slice(0, startLength), bytes.subarray(0, checkAt)) !== token) return null;
  return {
    start: token.slice(0, startLength) as TokenStart,
    organizationId: toUuid(bytes.subarray(0, organizationBytes)),
    prefix: token.slice(0, prefixLength),
    hash: sha256(bytes.subarray(organizationBytes, checkAt)),
  };
}

/** Takes the same time wherever the two differ. */
export const provesToken = (stored: Buffer, given: Buffer): boolean => stored.length === given.length && timingSafeEqual(stored, given);
