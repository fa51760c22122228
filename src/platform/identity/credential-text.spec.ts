import { newToken, parseToken, provesToken } from './credential-text.js';

const organizationId = '0198c0de-0000-7abc-8def-0123456789ab';
const { token, prefix, hash } = newToken(organizationId);

test('a token names its organization and proves its secret', () => {
  const parsed = parseToken(token);
  expect(parsed).toEqual({ start: 'obt_', organizationId, prefix, hash });
  expect(provesToken(hash, parsed!.hash)).toBe(true);
  expect(token).toMatch(/^obt_[A-Za-z0-9_-]{59}$/);
});

test('an API key has the same form and is no user token', () => {
  const key = newToken(organizationId, 'obk_');
  expect(key.token).toMatch(/^obk_[A-Za-z0-9_-]{59}$/);
  expect(parseToken(key.token)).toEqual({ start: 'obk_', organizationId, prefix: key.prefix, hash: key.hash });
  expect(parseToken(key.token.replace('obk_', 'obt_'))?.prefix).not.toBe(key.prefix);
});

test('two tokens of one organization differ in the part that is shown', () => {
  const other = newToken(organizationId);
  expect(other.prefix).not.toBe(prefix);
  expect(provesToken(other.hash, hash)).toBe(false);
});

test('no single changed character is taken for a token', () => {
  for (let at = 0; at < token.length; at += 1) {
    for (const other of ['A', 'B', '_', '7']) {
      if (token[at] === other) continue;
      expect(parseToken(token.slice(0, at) + other + token.slice(at + 1))).toBeNull();
    }
  }
});

test.each([
  ['nothing', ''],
  ['a space before it', ` ${token}`],
  ['a line after it', `${token}\n`],
  ['a character less', token.slice(0, -1)],
  ['a character more', `${token}A`],
  ['another kind of credential', token.replace('obt_', 'obx_')],
  ['standard base64', `${token.slice(0, -1)}+`],
])('%s is no token', (_what, text) => {
  expect(parseToken(text)).toBeNull();
});
