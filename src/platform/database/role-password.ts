import { createHash, createHmac, hkdfSync, pbkdf2Sync } from 'node:crypto';

type EncryptionKey = { readonly id: string; readonly key: Buffer };
export type RolePassword = {
  readonly password: string;
  /** What PostgreSQL stores for it. Sent in place of the password, which therefore is in no log of the server. */
  readonly verifier: string;
  /** Says which key a stored password was made of, and nothing else about it. */
  readonly fingerprint: string;
};

const derive = (key: Buffer, purpose: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', key, 'openbot', purpose, bytes));

/** SCRAM-SHA-256 as RFC 5803 writes it down. */
function scramVerifier(password: string, salt: Buffer): string {
  const iterations = 4096;
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** The password of a role as each of the keys makes it, in the keys' order. */
export function rolePasswords(keys: readonly EncryptionKey[], role: string): RolePassword[] {
  return keys.map(({ key }) => {
    const password = derive(key, `password of ${role}`, 24).toString('base64url');
    return { password, verifier: scramVerifier(password, derive(key, `salt of ${role}`, 16)), fingerprint: derive(key, `fingerprint of ${role}`, 12).toString('hex') };
  });
}
