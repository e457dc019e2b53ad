import { type IpBytes, type IpRange, isInRange, parseRange } from './ip-address.ts';

type NamedRange = IpRange & { name: string };

function named(name: string, ...texts: string[]): NamedRange[] {
  return texts.map((text) => ({ ...(parseRange(text) as IpRange), name }));
}

// The special-purpose registry of IANA for IPv4: everything that is not, or not surely, somebody on the public internet.
const specialIpv4: readonly NamedRange[] = [
  ...named('this host', '0.0.0.0/8'),
  ...named('private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'),
  ...named('carrier-grade NAT', '100.64.0.0/10'),
  ...named('loopback', '127.0.0.0/8'),
  ...named('link-local', '169.254.0.0/16'),
  ...named('reserved for protocols', '192.0.0.0/24', '192.88.99.0/24'),
  ...named('documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'),
  ...named('benchmarking', '198.18.0.0/15'),
  ...named('multicast', '224.0.0.0/4'),
  ...named('broadcast', '255.255.255.255/32'),
  ...named('reserved', '240.0.0.0/4'),
];

// Of IPv6 only 2000::/3 is given out, so that this list only gives the rest its names, and takes out what is special inside.
const specialIpv6: readonly NamedRange[] = [
  ...named('this host', '::/128'),
  ...named('loopback', '::1/128'),
  ...named('local NAT64', '64:ff9b:1::/48'),
  ...named('discard', '100::/64'),
  ...named('Teredo', '2001::/32'),
  ...named('reserved for protocols', '2001::/23', '3ffe::/16', '5f00::/16'),
  ...named('documentation', '2001:db8::/32', '3fff::/20'),
  ...named('unique local', 'fc00::/7'),
  ...named('link-local', 'fe80::/10'),
  ...named('site-local', 'fec0::/10'),
  ...named('multicast', 'ff00::/8'),
];
const givenOut = parseRange('2000::/3') as IpRange;

// IPv6 addresses behind which an IPv4 address is reached, and where it stands in them.
const embeddings: readonly (NamedRange & { at: number })[] = [
  ...named('IPv4-mapped', '::ffff:0:0/96').map((range) => ({ ...range, at: 12 })),
  ...named('IPv4-translated', '::ffff:0:0:0/96').map((range) => ({ ...range, at: 12 })),
  ...named('IPv4-compatible', '::/96').map((range) => ({ ...range, at: 12 })),
  ...named('NAT64', '64:ff9b::/96').map((range) => ({ ...range, at: 12 })),
  ...named('6to4', '2002::/16').map((range) => ({ ...range, at: 2 })),
];

/**
 * What kind of address this is, if it is one that a request must not go to unless it is allowed: `private`, `loopback` and so on; null:
 * it is public. An IPv4 address inside an IPv6 one is judged too, because that is where the packets go.
 */
export function specialRangeOf(address: IpBytes): string | null {
  if (address.length === 4) return specialIpv4.find((range) => isInRange(address, range))?.name ?? null;
  const special = specialIpv6.find((range) => isInRange(address, range));
  if (special !== undefined) return special.name;
  const embedding = embeddings.find((range) => isInRange(address, range));
  if (embedding !== undefined) {
    const inner = specialRangeOf(embeddedIn(address, embedding.at));
    return inner === null ? null : `${inner} (${embedding.name})`;
  }
  if (!isInRange(address, givenOut)) return 'reserved';
  const inner = isIsatap(address) ? specialRangeOf(embeddedIn(address, 12)) : null;
  return inner === null ? null : `${inner} (ISATAP)`;
}

/** The address that a rule for IPv4 has to look at: the one inside an IPv4-mapped address, else the address itself. */
export function unmapped(address: IpBytes): IpBytes {
  const mapped = embeddings[0] as NamedRange;
  return isInRange(address, mapped) ? embeddedIn(address, 12) : address;
}

function embeddedIn(address: IpBytes, at: number): IpBytes {
  return address.slice(at, at + 4);
}

/** Interface ids `0000:5efe` and `0200:5efe` carry an IPv4 address, whatever the network. */
function isIsatap(address: IpBytes): boolean {
  return (
    (address[8] === 0 || address[8] === 2) && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe
  );
}
