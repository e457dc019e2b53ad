const waitMsMax = 86_400_000;

/** Reads `Retry-After` in seconds; null: it is not there or not a number (a date is compared with nobody's clock). At most a day. */
export function retryAfterMs(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,9}$/.test(header.trim())) return null;
  return Math.min(Number(header) * 1_000, waitMsMax);
}
