import { returnTo } from './return-to.js';

test.each(['/v1/me', '/a?b=c#d', '/'])('%s is a place of this server', (path) => {
  expect(returnTo(path)).toBe(path);
});

test.each([
  undefined,
  '',
  'a',
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  'https://evil.example',
  'javascript:alert(1)',
  '/\t/evil.example',
  '/a\\b',
  '/ä',
  `/${'a'.repeat(2_000)}`,
])('%j leads nowhere else', (text) => {
  expect(returnTo(text)).toBe('/auth/signed-in');
});

test('dots lead to no other server', () => {
  expect(returnTo('/..//evil.example')).toBe('/auth/signed-in');
});
