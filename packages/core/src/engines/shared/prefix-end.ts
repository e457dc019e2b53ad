/**
 * The least text behind all that begin with `prefix`, by code points, which is how the stores order names: so a prefix is a range of an
 * index. null: nothing is behind them.
 */
export function prefixEnd(prefix: string): string | null {
  const points = Array.from(prefix, (one) => one.codePointAt(0) as number);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10ffff) continue;
    // Halves of surrogate pairs are no characters: the next one is behind them.
    const next = last + 1 === 0xd800 ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return null;
}
