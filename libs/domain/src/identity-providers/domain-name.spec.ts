import { domainName, domainOf } from './domain-name.js';

test.each([
  ['Example.COM', 'example.com'],
  [' example.com. ', 'example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['a.b.example', 'a.b.example'],
])('%j is the domain %s', (text, name) => {
  expect(domainName(text)).toBe(name);
});

test.each([
  '',
  'com',
  '.example.com',
  'a..b',
  '-a.example',
  'a-.example',
  '127.0.0.1',
  '[::1]',
  'example.com:80',
  'a@b.example',
  'example.com/x',
  'exa mple.com',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(130)}b`,
])('%j is none', (text) => {
  expect(domainName(text)).toBeNull();
});

test('of an address the last @ counts', () => {
  expect(domainOf('"a@evil.example"@Example.com')).toBe('example.com');
  expect(domainOf('@example.com')).toBeNull();
  expect(domainOf('example.com')).toBeNull();
});
