import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '@duly/core';
import { specialRangeOf } from '../../src/outgoing/address-ranges.ts';
import { createAllowedTargets } from '../../src/outgoing/allowed-targets.ts';
import { formatIp, parseIp } from '../../src/outgoing/ip-address.ts';
import { checkTargetUrl } from '../../src/outgoing/target-url.ts';

/** Hosts in every spelling that has been used to reach what should not be reached. All must be refused before a byte is sent. */
const refusedHosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '0177.1',
  '0177.0.0.1',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '127.0.0.1.',
  '１２７.０.０.１',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '0x0',
  '00',
  '0.0.0.1',
  '10.0.0.1',
  '10.255.255.255',
  '012.0.0.1',
  '167772161',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '0xc0a80001',
  '3232235521',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '169.254.43518',
  '0251.0376.0251.0376',
  '192.0.0.8',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '192.88.99.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '[::ffff:169.254.169.254]',
  '[::ffff:10.0.0.1]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::1]',
  '[64:ff9b::10.1.2.3]',
  '[2002:7f00:1::]',
  '[2002:7f00:1::1]',
  '[2002:a00:1::1]',
  '[2002:c0a8:101::1]',
  '[2002:a9fe:a9fe::]',
  '[2001::1]',
  '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fdff::1]',
  '[fe80::1]',
  '[febf::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[ff0e::1]',
  '[100::1]',
  '[4000::1]',
  '[2606:4700::5efe:127.0.0.1]',
  '[2606:4700::200:5efe:10.0.0.1]',
  '[5f00::1]',
  '[::ffff:0.0.0.0]',
];

const publicHosts = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.1',
  '100.63.255.255',
  '100.128.0.1',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.1.1',
  '172.15.255.255',
  '172.32.0.1',
  '192.167.1.1',
  '192.169.1.1',
  '198.17.1.1',
  '198.20.0.1',
  '223.255.255.255',
  '134744072',
  '0x08080808',
  '[2606:4700:4700::1111]',
  '[2a00:1450:4001:80b::200e]',
  '[::ffff:8.8.8.8]',
  '[64:ff9b::808:808]',
  '[2002:808:808::1]',
];

test('every odd spelling of an inner address is refused, and the refusal names the address and the option', () => {
  const allowed = createAllowedTargets();
  for (const host of refusedHosts) {
    for (const scheme of ['http', 'https']) {
      assert.throws(
        () => checkTargetUrl(`${scheme}://${host}:8080/path?x=1#y`, allowed),
        (error) => {
          assert.ok(isDulyError(error, 'target_refused'), `${host}: ${error}`);
          const { address } = error.details as { address: string };
          assert.notEqual(parseIp(address), null, host);
          assert.match(error.message, new RegExp(address.replaceAll('.', '\\.')), host);
          assert.match(error.hint ?? '', /--allow-targets/, host);
          return true;
        },
        host,
      );
    }
  }
});

test('localhost is refused at once like the address that it is, unless it is allowed; the hint names what differs once', () => {
  const refused = createAllowedTargets();
  for (const host of ['localhost', 'LOCALHOST.', 'app.localhost']) {
    assert.throws(
      () => checkTargetUrl(`http://${host}:3000/hook`, refused),
      (error) =>
        isDulyError(error, 'target_refused') && /--allow-targets 127\.0\.0\.1 \(or /.test(error.hint ?? ''),
      host,
    );
  }
  assert.ok(checkTargetUrl('http://localhost.example/', refused));
  for (const entry of ['localhost', '127.0.0.0/8']) {
    assert.ok(checkTargetUrl('http://localhost:3000/', createAllowedTargets([entry])), entry);
  }
  assert.throws(
    () => checkTargetUrl('http://10.0.0.1/', refused),
    (error) =>
      isDulyError(error) &&
      error.hint === 'If Duly may call it, start the server with --allow-targets 10.0.0.1.',
  );
});

test('public addresses pass', () => {
  const allowed = createAllowedTargets();
  for (const host of publicHosts) assert.ok(checkTargetUrl(`https://${host}/`, allowed), host);
});

test('other schemes, credentials and what is no address are refused', () => {
  const allowed = createAllowedTargets(['0.0.0.0/0', '::/0']);
  const bad = [
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_x',
    'javascript:1',
    'data:text/plain,x',
    'http://',
    'https://',
    '//example.com',
    'example.com',
    '',
    ' ',
    'http://user@example.com/',
    'http://user:pw@example.com/',
    'http://:pw@example.com/',
    'https://example.com@127.0.0.1/',
    'http://example.com:80@10.0.0.1/',
    'http://[fe80::1%25eth0]/',
    'http://256.1.1.1/',
    'http://1.2.3.4.5/',
    'http://0x100000000/',
    'http://exa mple.com/',
    `https://example.com/${'a'.repeat(2_100)}`,
  ];
  for (const url of bad) {
    assert.throws(
      () => checkTargetUrl(url, allowed),
      (error) => isDulyError(error, 'target_invalid'),
      url,
    );
  }
  // A backslash and a tab are read as a browser reads them: the host is what stands before.
  assert.equal(checkTargetUrl('https://example.com\\@127.0.0.1/', allowed).hostname, 'example.com');
});

test('what an operator allows passes, and nothing beside it', () => {
  const allowed = createAllowedTargets([
    '10.1.0.0/16',
    'localhost',
    '192.168.7.7',
    '[fd00::]/8'.replace(/[[\]]/g, ''),
    'Builds.Internal',
  ]);
  for (const [host, address] of [
    ['10.1.2.3', '10.1.2.3'],
    ['any.example', '10.1.255.255'],
    ['any.example', '::ffff:10.1.0.1'],
    ['localhost', '127.0.0.1'],
    ['LOCALHOST.', '::1'],
    ['x', '192.168.7.7'],
    ['x', 'fd12::1'],
    ['builds.internal', '172.16.0.9'],
  ] as const) {
    assert.doesNotThrow(() => allowed.check(host, address), `${host} ${address}`);
  }
  for (const [host, address] of [
    ['x', '10.2.0.1'],
    ['x', '127.0.0.1'],
    ['localhost.example', '127.0.0.1'],
    ['x', '192.168.7.8'],
    ['x', 'fe80::1'],
    ['y.builds.internal', '172.16.0.9'],
    ['x', ''],
    ['x', 'localhost'],
  ] as const) {
    assert.throws(
      () => allowed.check(host, address),
      (error) => isDulyError(error, 'target_refused'),
      `${host} ${address}`,
    );
  }
});

test('an entry that is neither host nor range is refused', () => {
  for (const entry of [
    '',
    'http://x',
    'x:80',
    '10.0.0.0/33',
    '10.0.0.0/x',
    '10.0.0.0/8/8',
    'a b',
    '*',
    '::/129',
    'x/8',
  ]) {
    assert.throws(
      () => createAllowedTargets([entry]),
      (error) => isDulyError(error, 'invalid_option'),
      entry,
    );
  }
});

test('addresses are read as the system reads them', () => {
  for (const text of ['1.2.3.4', '2001:db8:0:0:0:0:0:1', 'fe80:0:0:0:1:2:3:4'])
    assert.equal(formatIp(parseIp(text) ?? []), text);
  assert.equal(formatIp(parseIp('::1.2.3.4') ?? []), '0:0:0:0:0:0:102:304');
  assert.equal(formatIp(parseIp('fe80::1%eth0') ?? []), 'fe80:0:0:0:0:0:0:1');
  for (const text of ['', 'x', '1.2.3', '1.2.3.4.5', ':::', '1:2:3:4:5:6:7:8:9', '127.1'])
    assert.equal(parseIp(text), null, text);
  assert.equal(specialRangeOf(parseIp('::ffff:127.0.0.1') ?? []), 'loopback (IPv4-mapped)');
});
