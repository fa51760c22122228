import { addressPolicy, allowsAddress, allowsHost } from './address-policy.js';

const production = addressPolicy([], { loopback: false });
const development = addressPolicy([], { loopback: true });

describe('an address that a tenant may name', () => {
  test.each([
    ['8.8.8.8', true],
    ['1.1.1.1', true],
    ['172.15.255.255', true],
    ['172.32.0.1', true],
    ['100.63.255.255', true],
    ['169.253.255.255', true],
    ['192.167.1.1', true],
    ['198.17.255.255', true],
    ['223.255.255.255', true],
    ['2606:4700:4700::1111', true],
    ['2a00:1450:4001:80f::200e', true],
    ['::ffff:8.8.8.8', true],
    ['64:ff9b::808:808', true],
    ['0.0.0.0', false],
    ['10.0.0.1', false],
    ['10.255.255.255', false],
    ['100.64.0.1', false],
    ['100.100.100.200', false],
    ['127.0.0.1', false],
    ['127.255.255.254', false],
    ['169.254.169.254', false],
    ['168.63.129.16', false],
    ['172.16.0.1', false],
    ['172.31.255.255', false],
    ['192.0.0.192', false],
    ['192.0.2.1', false],
    ['192.168.1.1', false],
    ['198.18.0.1', false],
    ['198.51.100.7', false],
    ['203.0.113.7', false],
    ['224.0.0.1', false],
    ['240.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['::7f00:1', false],
    ['fe80::1', false],
    ['fe80::1%eth0', false],
    ['fec0::1', false],
    ['fc00::1', false],
    ['fd00:ec2::254', false],
    ['ff02::1', false],
    ['::ffff:127.0.0.1', false],
    ['::ffff:7f00:1', false],
    ['0:0:0:0:0:ffff:a9fe:a9fe', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::7f00:1', false],
    ['64:ff9b::1', false],
    ['64:ff9b:1::7f00:1', false],
    ['2001:0:7f00:1::', false],
    ['2001:db8::1', false],
    ['2002:7f00:1::', false],
    ['3fff::1', false],
    ['100::1', false],
    ['localhost', false],
    ['', false],
  ])('%s: %p', (address, allowed) => {
    expect(allowsAddress(production, address)).toBe(allowed);
  });

  test('development reaches its own machine, and no other private one', () => {
    expect(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'].map((address) => allowsAddress(development, address))).toEqual([true, true, true, true]);
    expect(['10.0.0.1', '169.254.169.254', 'fd00::1'].map((address) => allowsAddress(development, address))).toEqual([false, false, false]);
  });

  test('an operator allows networks, single addresses and hosts', () => {
    const policy = addressPolicy(['10.1.0.0/16', '192.168.7.7', 'fd12::/16', 'Models.Internal'], { loopback: false });
    expect(['10.1.2.3', '192.168.7.7', 'fd12::9', '::ffff:10.1.2.3'].map((address) => allowsAddress(policy, address))).toEqual([true, true, true, true]);
    expect(['10.2.0.1', '192.168.7.8', 'fd13::9'].map((address) => allowsAddress(policy, address))).toEqual([false, false, false]);
    expect(['models.internal', 'MODELS.internal.', 'other.internal'].map((host) => allowsHost(policy, host))).toEqual([true, true, false]);
  });
});
