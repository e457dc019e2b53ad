import { DulyError } from '@duly/core';
import type { AllowedTargets } from './allowed-targets.ts';
import { parseIp } from './ip-address.ts';

const urlLengthMax = 2_048;

/**
 * Reads the address of an outgoing request: http or https, a host, no user and password. Odd spellings of an address (`127.1`, `0x7f.1`,
 * `2130706433`) come out as the address that they are. Throws `target_invalid`.
 */
export function parseTargetUrl(text: string): URL {
  if (text.length > urlLengthMax) throw invalid(`is longer than ${urlLengthMax} characters`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw invalid('is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(`has the scheme "${url.protocol.slice(0, -1)}"; only http and https are called`);
  }
  // Whoever reads `https://example.com@127.0.0.1/` sees another host than the socket does.
  if (url.username !== '' || url.password !== '') throw invalid('holds a user or a password');
  if (url.hostname === '') throw invalid('names no host');
  return url;
}

/**
 * Refuses what can be refused before anything is sent: a URL that cannot be called, or one with a literal address that is not allowed. `localhost` is as good
 * as one: it is what people try first, and they should hear of it at once.
 */
export function checkTargetUrl(text: string, allowed: AllowedTargets): URL {
  const url = parseTargetUrl(text);
  const host = hostOf(url);
  if (parseIp(host) !== null) allowed.check(host, host);
  else if (/(?:^|\.)localhost\.?$/.test(host)) allowed.check(host, '127.0.0.1');
  return url;
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function invalid(problem: string): DulyError {
  return new DulyError('target_invalid', {
    message: `The address of an outgoing request ${problem}.`,
    hint: 'Write a full address like "https://example.com/hook", without user and password; credentials belong in a header.',
  });
}
