/** What an answer says is true to the second, and its way takes a while. */
const toleranceMs = 2_000;
let aheadMs = 0;

/**
 * Learns from the date of an answer how far the server's clock is ahead of the browser's. All instants that are shown are the server's:
 * beside a clock that is an hour wrong, what has just begun would run for an hour.
 */
export function noteServerDate(
  date: string | null,
  { askedAt, answeredAt }: { askedAt: number; answeredAt: number },
): void {
  const second = date === null ? Number.NaN : Date.parse(date);
  // One that was long under way says little.
  if (Number.isNaN(second) || answeredAt - askedAt > toleranceMs) return;
  const found = second + 500 - (askedAt + answeredAt) / 2;
  if (Math.abs(found - aheadMs) <= toleranceMs) return;
  aheadMs = Math.abs(found) <= toleranceMs ? 0 : Math.round(found);
}

/** Now, by the server's clock. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}
