import { BlockList, isIP } from 'node:net';

/** Networks that no public service lives in: a host name that leads there is a mistake or an attack. */
const refusedNetworks: readonly [string, number, 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  // Link-local, and in it the metadata services of the clouds.
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  // A public address on which Azure answers its own machines.
  ['168.63.129.16', 32, 'ipv4'],
  // Only 2000::/3 is global; these three are all the rest: loopback, link-local, unique-local, multicast.
  ['::', 3, 'ipv6'],
  ['4000::', 2, 'ipv6'],
  ['8000::', 1, 'ipv6'],
  // Within 2000::/3: protocol assignments with Teredo, documentation, 6to4.
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
];

// One list each: a list reads an IPv4 address as the mapped IPv6 one too.
const refused = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [network, prefix, family] of refusedNetworks) refused[family].addSubnet(network, prefix, family);

const loopback = ['127.0.0.0/8', '::1/128'];

/** What the operator allows beside public addresses: networks, and hosts whatever they resolve to. */
export type AddressPolicy = { readonly networks: BlockList; readonly hosts: ReadonlySet<string> };

const bare = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

/** `allow`: hosts, addresses or CIDRs. Development may reach its own machine. */
export function addressPolicy(allow: readonly string[], options: { readonly loopback: boolean }): AddressPolicy {
  const networks = new BlockList();
  const hosts = new Set<string>();
  for (const entry of options.loopback ? [...allow, ...loopback, 'localhost'] : allow) {
    const [address = '', prefix] = entry.split('/');
    const version = isIP(address);
    if (version === 0) hosts.add(bare(entry));
    else networks.addSubnet(address, prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
  }
  return { networks, hosts };
}

export const allowsHost = (policy: AddressPolicy, host: string): boolean => policy.hosts.has(bare(host));

/** The IPv4 address inside a mapped (`::ffff:…`) or translated (`64:ff9b::…`) one: it decides where the packets go. */
function embeddedIpv4(canonical: string): string | null {
  const [, high, low] = /^(?:::ffff|64:ff9b:):(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(canonical) ?? [];
  if (low === undefined) return null;
  const bits = (parseInt(high ?? '0', 16) << 16) | parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}

/** Whether a connection to this address may be opened. Anything that is no address may not. */
export function allowsAddress(policy: AddressPolicy, address: string): boolean {
  const plain = bare(address).replace(/%.*$/, '');
  const version = isIP(plain);
  if (version === 0) return false;
  const canonical = version === 4 ? plain : bare(new URL(`http://[${plain}]/`).hostname);
  const ipv4 = version === 4 ? plain : embeddedIpv4(canonical);
  if (ipv4 !== null) return policy.networks.check(ipv4, 'ipv4') || !refused.ipv4.check(ipv4, 'ipv4');
  return policy.networks.check(canonical, 'ipv6') || !refused.ipv6.check(canonical, 'ipv6');
}
