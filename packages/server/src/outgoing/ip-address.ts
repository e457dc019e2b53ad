import { isIPv4, isIPv6 } from 'node:net';

/** An IP address as its bytes: 4 or 16 of them. */
export type IpBytes = readonly number[];

/** Reads an address in the form that the system gives it, without brackets; null: it is none. A zone (`%eth0`) is left out. */
export function parseIp(text: string): IpBytes | null {
  const bare = text.split('%', 1)[0] as string;
  if (isIPv4(bare)) return bare.split('.').map(Number);
  if (!isIPv6(bare)) return null;
  const [head = '', tail] = bare.split('::', 2) as [string, string?];
  const left = wordsOf(head);
  const right = tail === undefined ? [] : wordsOf(tail);
  const zeros = new Array<number>(16 - left.length - right.length).fill(0);
  return [...left, ...zeros, ...right];
}

function wordsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((word) => {
    if (word.includes('.')) return word.split('.').map(Number);
    const value = Number.parseInt(word, 16);
    return [value >> 8, value & 0xff];
  });
}

/** The text of an address: dotted for IPv4, eight groups without zeros in front for IPv6. */
export function formatIp(bytes: IpBytes): string {
  if (bytes.length === 4) return bytes.join('.');
  const words: string[] = [];
  for (let i = 0; i < 16; i += 2) {
    words.push((((bytes[i] as number) << 8) | (bytes[i + 1] as number)).toString(16));
  }
  return words.join(':');
}

/** A range of addresses: those that begin with the same bits. */
export interface IpRange {
  bytes: IpBytes;
  bitCount: number;
}

/** Reads `10.0.0.0/8`, `fd00::/8` or a lone address; null: it is none. Bits behind the prefix are not looked at. */
export function parseRange(text: string): IpRange | null {
  const [address = '', bits, ...rest] = text.split('/');
  const bytes = parseIp(address);
  if (bytes === null || rest.length > 0) return null;
  if (bits === undefined) return { bytes, bitCount: bytes.length * 8 };
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > bytes.length * 8) return null;
  return { bytes, bitCount: Number(bits) };
}

/** Whether an address lies in a range. One of the other family never does. */
export function isInRange(address: IpBytes, { bytes, bitCount }: IpRange): boolean {
  if (address.length !== bytes.length) return false;
  const whole = bitCount >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false;
  const left = bitCount & 7;
  if (left === 0) return true;
  const mask = (0xff << (8 - left)) & 0xff;
  return ((address[whole] as number) & mask) === ((bytes[whole] as number) & mask);
}
