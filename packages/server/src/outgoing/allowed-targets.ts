import { DulyError } from '@duly/core';
import { specialRangeOf, unmapped } from './address-ranges.ts';
import { formatIp, type IpRange, isInRange, parseIp, parseRange } from './ip-address.ts';

/** The option that opens what is refused, as the command spells it. */
export const allowTargetsOption = '--allow-targets';

/** What an operator opened for outgoing requests, beyond the public internet. */
export interface AllowedTargets {
  /** Throws `target_refused` unless requests to this host may go to this address. */
  check(host: string, address: string): void;
}

/**
 * Reads what `--allow-targets` was given: names of hosts (`builds.internal`), addresses and ranges (`10.0.0.0/8`). A name opens whatever
 * it leads to; a range opens its addresses, whatever name led there. Throws `invalid_option`.
 */
export function createAllowedTargets(entries: readonly string[] = []): AllowedTargets {
  const hosts = new Set<string>();
  const ranges: IpRange[] = [];
  for (const entry of entries) {
    const range = parseRange(entry.replace(/^\[(.*)\]$/, '$1'));
    if (range !== null) ranges.push(range);
    else hosts.add(readHost(entry));
  }
  return {
    check(host, address) {
      const bytes = parseIp(address);
      if (bytes === null) throw refused(host, address, 'not an address');
      const range = specialRangeOf(bytes);
      if (range === null || hosts.has(bareHost(host))) return;
      // What is written as a range of IPv4 also means the same addresses in their IPv6 form.
      const plain = unmapped(bytes);
      if (ranges.some((one) => isInRange(plain, one) || isInRange(bytes, one))) return;
      throw refused(host, formatIp(plain), range);
    },
  };
}

function readHost(entry: string): string {
  const host = bareHost(entry);
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host) || host.length > 253) {
    throw new DulyError('invalid_option', {
      message: `Expected "${allowTargetsOption}" to be a host or a range of addresses, got "${entry.slice(0, 100)}".`,
      hint: 'Write a name without scheme and port ("builds.internal"), an address ("10.1.2.3") or a range ("10.0.0.0/8").',
      details: { field: 'allowTargets' },
    });
  }
  return host;
}

/** A host as it is compared: lower case, without the dot that may end a full name. */
function bareHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

function refused(host: string, address: string, range: string): DulyError {
  const named = host === address ? `"${address}"` : `"${host}" (${address})`;
  return new DulyError('target_refused', {
    message: `Requests to ${named} are refused: the address is ${range}.`,
    hint: `If Duly may call it, start the server with ${allowTargetsOption} ${address}${host === address ? '' : ` (or ${allowTargetsOption} ${host})`}.`,
    details: { host, address, range, option: allowTargetsOption },
  });
}
