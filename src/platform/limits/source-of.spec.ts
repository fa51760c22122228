import { sourceOf } from './source-of.js';

test.each([
  ['an IPv4 address is itself', '203.0.113.7', '203.0.113.7'],
  ['an IPv4 address that came over IPv6 is the same', '::ffff:203.0.113.7', '203.0.113.7'],
  ['an IPv6 address is its network', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['in every spelling', '2001:0DB8:0001:2::1', '2001:db8:1:2'],
  ['also where zeros are left out', '2001:db8::1', '2001:db8:0:0'],
  ['also where all are', '::1', '0:0:0:0'],
  ['with a zone', 'fe80::1%eth0', 'fe80:0:0:0'],
  ['with an address inside', '64:ff9b::203.0.113.7', '64:ff9b:0:0'],
])('%s', (_, address, source) => expect(sourceOf(address)).toBe(source));
