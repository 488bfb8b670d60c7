import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { judgeAddress, parseAllowedCidrs } from '../domain/address-rules.js';
import { BlockedAddressError, type OutboundClient } from '../domain/outbound.js';
import { createLookup } from '../providers/outbound/connector.js';
import { createOutboundClient, type OutboundClientOptions } from '../providers/outbound/guarded-client.js';

// Nothing here connects anywhere: public addresses are only checked, and names are resolved by the lookup of the test.

const clients: OutboundClient[] = [];
function clientWith(options: Partial<OutboundClientOptions> = {}): OutboundClient {
  const lookup = async (name: string): Promise<string[]> => {
    throw new Error(`${name} must not be looked up`);
  };
  const client = createOutboundClient({ allowedCidrs: [], lookup, ...options });
  clients.push(client);
  return client;
}
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

const blockedReason = async (client: OutboundClient, url: string): Promise<string> => {
  const reasons = await Promise.all(
    [client.check(url), client.send({ method: 'GET', url, headers: {}, timeoutMs: 2_000, maxResponseBytes: 1 })].map(
      (attempt) =>
        attempt.then(
          () => 'not rejected',
          (error: Error) => (error instanceof BlockedAddressError ? error.message : `another error: ${error.message}`),
        ),
    ),
  );
  expect(reasons[0]).toBe(reasons[1]);
  return reasons[0] ?? '';
};

describe('addresses', () => {
  test.each([
    ['0.0.0.0', 'unspecified or "this network"'],
    ['0.1.2.3', 'unspecified or "this network"'],
    ['10.0.0.1', 'private network'],
    ['10.255.255.255', 'private network'],
    ['100.64.0.1', 'carrier-grade NAT'],
    ['100.100.100.200', 'carrier-grade NAT'],
    ['100.127.255.255', 'carrier-grade NAT'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['168.63.129.16', 'cloud platform'],
    ['169.254.0.1', 'link-local'],
    ['169.254.169.254', 'link-local'],
    ['172.16.0.1', 'private network'],
    ['172.31.255.255', 'private network'],
    ['192.0.0.1', 'protocol assignments'],
    ['192.0.0.192', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['192.31.196.1', 'AS112 sink'],
    ['192.52.193.1', 'multicast relay'],
    ['192.88.99.1', '6to4 relay'],
    ['192.168.0.1', 'private network'],
    ['192.175.48.1', 'AS112 sink'],
    ['198.18.0.1', 'benchmarking'],
    ['198.19.255.255', 'benchmarking'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::8.8.8.8', 'IPv4-mapped'],
    ['::808:808', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['::ffff:8.8.8.8', 'IPv4-mapped'],
    ['::ffff:7f00:1', 'IPv4-mapped'],
    ['::ffff:0:8.8.8.8', 'IPv4-translated'],
    ['64:ff9b::10.0.0.1', 'NAT64'],
    ['64:ff9b::8.8.8.8', 'NAT64'],
    ['64:ff9b:1::1', 'NAT64'],
    ['100::1', 'discard'],
    ['2001::1', 'Teredo'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
    ['2001:2::1', 'benchmarking'],
    ['2001:10::1', 'protocol assignments'],
    ['2001:20::1', 'protocol assignments'],
    ['2001:db8::1', 'documentation'],
    ['2002:7f00:1::1', '6to4'],
    ['2002:808:808::1', '6to4'],
    ['2606:4700::5efe:10.0.0.1', 'ISATAP'],
    ['2620:4f:8000::1', 'AS112 sink'],
    ['3ffe::1', 'retired 6bone'],
    ['3fff::1', 'documentation'],
    ['4000::1', 'reserved'],
    ['5f00::1', 'segment routing'],
    ['fc00::1', 'private network'],
    ['fd12:3456:789a::1', 'private network'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['ff0e::1', 'multicast'],
    ['0177.0.0.1', 'not an IP address'],
    ['0x7f.0.0.1', 'not an IP address'],
    ['2130706433', 'not an IP address'],
    ['127.1', 'not an IP address'],
    ['fe80::1%eth0', 'not an IP address'],
    ['2606:4700::1%eth0', 'not an IP address'],
    ['localhost', 'not an IP address'],
    ['', 'not an IP address'],
  ])('%s is blocked: %s', (address, reason) => {
    expect(judgeAddress(address)).toEqual({ allowed: false, reason });
  });

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.1',
    '100.63.255.255',
    '100.128.0.1',
    '126.255.255.255',
    '128.0.0.1',
    '168.63.129.17',
    '172.15.255.255',
    '172.32.0.1',
    '192.0.1.1',
    '192.167.255.255',
    '198.17.255.255',
    '198.20.0.1',
    '223.255.255.255',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2400:cb00::1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
  ])('%s is public', (address) => {
    expect(judgeAddress(address)).toEqual({ allowed: true, opened: false });
  });

  test('an opened range opens its own address family and nothing else', () => {
    const opened = parseAllowedCidrs('127.0.0.0/8, ::1/128');
    expect(judgeAddress('127.9.9.9', opened)).toEqual({ allowed: true, opened: true });
    expect(judgeAddress('::1', opened)).toEqual({ allowed: true, opened: true });
    expect(judgeAddress('8.8.8.8', opened)).toEqual({ allowed: true, opened: false });
    for (const address of ['10.0.0.1', '::ffff:127.0.0.1', '::2', '64:ff9b::7f00:1']) {
      expect(judgeAddress(address, opened).allowed).toBe(false);
    }
  });

  test.each([
    ['127.0.0.1', 'the prefix length is missing; one address is 127.0.0.1/32'],
    ['10.1.2.3/8', 'write 10.0.0.0/8'],
    ['10.0.0.0/33', 'the prefix length must be between 1 and 32'],
    ['::1/129', 'the prefix length must be between 1 and 128'],
    ['10.0.0.0/', 'the prefix length must be between 1 and 32'],
    ['10.0.0.0/-1', 'the prefix length must be between 1 and 32'],
    ['0.0.0.0/0', 'it would allow every address'],
    ['::/0', 'it would allow every address'],
    ['010.0.0.0/8', 'write an address and a prefix length'],
    ['localhost/8', 'write an address and a prefix length'],
    ['10.0.0.0/8/8', 'write an address and a prefix length'],
  ])('%s is not a valid range', (entry, why) => {
    expect(() => parseAllowedCidrs(`127.0.0.0/8,${entry}`)).toThrow(`"${entry}" is not a valid range: `);
    expect(() => parseAllowedCidrs(entry)).toThrow(why);
  });

  test('an empty setting opens no range', () => {
    expect(parseAllowedCidrs('')).toEqual([]);
    expect(parseAllowedCidrs(' , ')).toEqual([]);
  });
});

describe('URLs', () => {
  const literal = (address: string, reason: string) => `${address} is blocked (${reason})`;
  test.each([
    ['https://127.0.0.1/', literal('127.0.0.1', 'loopback')],
    ['https://127.0.0.1:8443/hook', literal('127.0.0.1', 'loopback')],
    ['https://127.1/', literal('127.0.0.1', 'loopback')],
    ['https://2130706433/', literal('127.0.0.1', 'loopback')],
    ['https://017700000001/', literal('127.0.0.1', 'loopback')],
    ['https://0177.0.0.01/', literal('127.0.0.1', 'loopback')],
    ['https://0x7f000001/', literal('127.0.0.1', 'loopback')],
    ['https://0x7f.0.0.0x1/', literal('127.0.0.1', 'loopback')],
    ['https://127.0.0.1./', literal('127.0.0.1', 'loopback')],
    ['https://%31%32%37.0.0.1/', literal('127.0.0.1', 'loopback')],
    ['https://１２７.０.０.１/', literal('127.0.0.1', 'loopback')],
    ['https://127。0。0。1/', literal('127.0.0.1', 'loopback')],
    ['https:\\\\127.0.0.1\\', literal('127.0.0.1', 'loopback')],
    ['https:127.0.0.1', literal('127.0.0.1', 'loopback')],
    ['https://0/', literal('0.0.0.0', 'unspecified or "this network"')],
    ['https://169.254.169.254/latest/meta-data/', literal('169.254.169.254', 'link-local')],
    ['https://0xa9fea9fe/', literal('169.254.169.254', 'link-local')],
    ['https://[::1]/', literal('::1', 'loopback')],
    ['https://[0:0:0:0:0:0:0:1]:8443/', literal('::1', 'loopback')],
    ['https://[::]/', literal('::', 'unspecified')],
    ['https://[::ffff:127.0.0.1]/', literal('::ffff:7f00:1', 'IPv4-mapped')],
    ['https://[::127.0.0.1]/', literal('::7f00:1', 'IPv4-compatible')],
    ['https://[64:ff9b::127.0.0.1]/', literal('64:ff9b::7f00:1', 'NAT64')],
    ['https://[fd00:ec2::254]/', literal('fd00:ec2::254', 'private network')],
    ['https://[fe80::1%25eth0]/', 'not a valid URL'],
    ['https://localhost/', 'localhost resolves to a blocked address (loopback)'],
    ['https://LOCALHOST./', 'localhost resolves to a blocked address (loopback)'],
    ['https://%6cocalhost/', 'localhost resolves to a blocked address (loopback)'],
    ['https://ⓛocalhost/', 'localhost resolves to a blocked address (loopback)'],
    ['https://api.localhost/', 'api.localhost resolves to a blocked address (loopback)'],
    ['https://localhost.localdomain/', 'localhost.localdomain resolves to a blocked address (loopback)'],
    ['https://ip6-localhost/', 'ip6-localhost resolves to a blocked address (loopback)'],
    ['https://user@receiver.example/', 'a URL must not contain credentials'],
    ['https://user:pass@receiver.example/', 'a URL must not contain credentials'],
    ['https://:pass@receiver.example/', 'a URL must not contain credentials'],
    ['https://receiver.example@127.0.0.1/', 'a URL must not contain credentials'],
    ['https://receiver..example/', 'not a valid host name'],
    ['https://receiver.example../', 'not a valid host name'],
    ['https://./', 'not a valid host name'],
    ['https://', 'not a valid URL'],
    ['https://256.256.256.256/', 'not a valid URL'],
    ['https://1.2.3.4.5/', 'not a valid URL'],
    ['receiver.example', 'not a valid URL'],
    ['', 'not a valid URL'],
    [`https://receiver.example/${'x'.repeat(9_000)}`, 'not a valid URL'],
    ['http://receiver.example/', 'only https URLs are allowed'],
    ['http://8.8.8.8/', 'only https URLs are allowed'],
    ['ftp://receiver.example/', 'only https URLs are allowed'],
    ['file:///etc/passwd', 'only https URLs are allowed'],
    ['data:text/plain,x', 'only https URLs are allowed'],
    ['javascript:alert(1)', 'only https URLs are allowed'],
    ['unix:///var/run/docker.sock', 'only https URLs are allowed'],
  ])('%s is rejected at registration and at each attempt, without a lookup', async (url, reason) => {
    expect(await blockedReason(clientWith(), url)).toBe(reason);
  });

  test('any port, path and public address is accepted', async () => {
    const client = clientWith({ lookup: async () => ['93.184.215.14', '2606:4700::1111'] });
    for (const url of [
      'https://receiver.example:8443/hook?a=1#b',
      'https://8.8.8.8/',
      'https://[2606:4700::1111]:22/',
      'https://bücher.example./',
    ]) {
      await expect(client.check(url)).resolves.toBeUndefined();
    }
  });

  test('plain http is allowed for opened ranges only', async () => {
    const allowedCidrs = parseAllowedCidrs('127.0.0.0/8');
    const client = clientWith({
      allowedCidrs,
      lookup: async (name) => [name.startsWith('inside') ? '127.0.0.1' : '8.8.8.8'],
    });
    await expect(client.check('http://127.0.0.1:9/')).resolves.toBeUndefined();
    await expect(client.check('http://localhost:9/')).resolves.toBeUndefined();
    await expect(client.check('http://inside.example/')).resolves.toBeUndefined();
    await expect(client.check('https://outside.example/')).resolves.toBeUndefined();
    expect(await blockedReason(client, 'http://outside.example/')).toBe('only https URLs are allowed');
    expect(await blockedReason(client, 'http://8.8.8.8/')).toBe('only https URLs are allowed');
    expect(await blockedReason(client, 'http://10.0.0.1/')).toBe('10.0.0.1 is blocked (private network)');
    expect(await blockedReason(client, 'http://[::1]/')).toBe('::1 is blocked (loopback)');
  });
});

describe('names', () => {
  test.each([
    ['a private address', ['10.0.0.1'], 'private network'],
    ['loopback after a public address', ['8.8.8.8', '127.0.0.1'], 'loopback'],
    ['a public address after loopback', ['127.0.0.1', '8.8.8.8'], 'loopback'],
    ['a mapped address among many', ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:10.0.0.1'], 'IPv4-mapped'],
    ['a string that is not an address', ['8.8.8.8', 'localhost'], 'not an IP address'],
  ])('a name that resolves to %s is rejected, and the message names no address', async (_what, addresses, reason) => {
    const client = clientWith({ lookup: async () => addresses });
    const message = await blockedReason(client, 'https://receiver.example/');
    expect(message).toBe(`receiver.example resolves to a blocked address (${reason})`);
  });

  const getOf = (url: string) => ({ method: 'GET' as const, url, headers: {}, timeoutMs: 60_000, maxResponseBytes: 1 });

  test('a name that cannot be resolved is accepted at registration and fails the attempt', async () => {
    const lookup = async () => {
      throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const client = clientWith({ lookup });
    await expect(client.check('https://receiver.example/')).resolves.toBeUndefined();
    const sent = client.send(getOf('https://receiver.example/'));
    await expect(sent).rejects.toMatchObject({ code: 'ENOTFOUND', message: 'name could not be resolved' });
  });

  test('a name server that returns a public address first and loopback afterwards gains nothing', async () => {
    const answers = ['8.8.8.8', '127.0.0.1'];
    const server = await nameServer(() => answers.shift() ?? '127.0.0.1');
    const client = clientWith({ lookup: createLookup([`127.0.0.1:${(server.address() as AddressInfo).port}`]) });
    await expect(client.check('https://rebinding.example/')).resolves.toBeUndefined();
    const sent = client.send(getOf('https://rebinding.example/'));
    await expect(sent).rejects.toThrow('rebinding.example resolves to a blocked address (loopback)');
    expect(answers).toEqual([]);
    server.close();
  });

  test('lookups beyond a bound fail at once as a timeout, while a name server is silent, and others succeed afterwards', async () => {
    const server = await nameServer(() => '127.0.0.1');
    const lookup = createLookup([`127.0.0.1:${(server.address() as AddressInfo).port}`]);
    let ended = 0;
    const within = Array.from({ length: 4_000 }, (_, n) => lookup(`silent-${n}.example`).finally(() => ended++));
    const results = Promise.allSettled(within);
    await expect(lookup('beyond.example')).rejects.toMatchObject({ code: 'ETIMEOUT' });
    expect(ended).toBe(0);
    const client = clientWith({ lookup });
    await expect(client.check('https://beyond.example/')).resolves.toBeUndefined();
    const sent = client.send(getOf('https://beyond.example/'));
    await expect(sent).rejects.toMatchObject({ code: 'ETIMEDOUT', message: 'name lookup timed out' });
    expect(new Set((await results).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await lookup('beyond.example')).toEqual(['127.0.0.1']);
    server.close();
  });
});

/** A name server that returns the next address for each IPv4 query, and none for IPv6. For names that begin with `silent` it is silent. */
async function nameServer(nextAddress: () => string): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const endOfName = query.indexOf(0, 12) + 1;
    if (query.toString('latin1', 13, 19) === 'silent') return;
    const question = query.subarray(12, endOfName + 4);
    const isA = query.readUInt16BE(endOfName) === 1;
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
    const record = isA ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...nextAddress().split('.').map(Number)] : [];
    socket.send(Buffer.concat([header, question, Buffer.from(record)]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}
