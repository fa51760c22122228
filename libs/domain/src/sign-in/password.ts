import { fail, ok, type Result } from '../result.js';

/** Characters after normalization. */
export const shortestPassword = 12;
export const longestPassword = 128;

/** `field`: where the password was given. */
export type PasswordRefused = { readonly _tag: 'PasswordRefused'; readonly field: string; readonly reason: 'short' | 'long' | 'common' | 'your-name' };

/** The commonest passwords that are long enough; shorter ones need no list. Lower case, without digits and signs at their ends. */
const common = new Set([
  'abcdefghijkl',
  'administrator',
  'changeme',
  'changemenow',
  'correcthorsebatterystaple',
  'iloveyou',
  'iloveyouforever',
  'letmein',
  'letmeinplease',
  'openbot',
  'passphrase',
  'password',
  'passwordpassword',
  'p@ssw0rd',
  'p@ssword',
  'passw0rd',
  'qwerty',
  'qwertyuiop',
  'qwertyuiopasdfgh',
  'qwertyuiopasdfghjkl',
  'qwertyqwerty',
  '1q2w3e4r5t6y',
  'q1w2e3r4t5y6',
  'qazwsxedcrfv',
  '1qaz2wsx3edc',
  'secret',
  'secretpassword',
  'trustno1',
  'welcome',
  'welcometothejungle',
]);
const digits = '01234567890123456789';
/** A text of fewer different characters is a pattern. */
const fewestCharacters = 5;

const trimmed = (text: string): string => text.replace(/^[\d\p{P}\p{S}\s]+|[\d\p{P}\p{S}\s]+$/gu, '');
const isCommon = (lower: string): boolean =>
  common.has(lower) || common.has(trimmed(lower)) || new Set(lower).size < fewestCharacters || digits.includes(lower) || [...digits].reverse().join('').includes(lower);

/**
 * The form in which a password is hashed and compared: keyboards write one character in several ways (NFKC, as NIST SP 800-63B asks for). Nothing is
 * trimmed or cut.
 */
export const normalPassword = (given: string): string => given.normalize('NFKC');

/** Whether somebody may have this password; in its normal form. `names`: what belongs to whoever has it, and everybody may know. */
export function judgePassword(given: string, field: string, names: readonly (string | null)[]): Result<string, PasswordRefused> {
  const password = normalPassword(given);
  const refuse = (reason: PasswordRefused['reason']): Result<string, PasswordRefused> => fail({ _tag: 'PasswordRefused', field, reason });
  const [length, lower] = [[...password].length, password.toLowerCase()];
  if (length < shortestPassword) return refuse('short');
  if (length > longestPassword) return refuse('long');
  if (names.some((name) => name !== null && [lower, trimmed(lower)].includes(normalPassword(name).toLowerCase()))) return refuse('your-name');
  return isCommon(lower) ? refuse('common') : ok(password);
}
