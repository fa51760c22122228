import { isIPv6 } from 'node:net';

/** An IPv6 address in eight groups. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  return tail === undefined ? before : [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
}

/** Where a request comes from, as limits count it: an IPv4 address, or the first 64 bits of an IPv6 one, of which everybody has as many as they like. */
export function sourceOf(address: string): string {
  const plain = address.split('%', 1)[0] ?? '';
  if (!isIPv6(plain)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped) return mapped;
  return groupsOf(plain)
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':');
}
