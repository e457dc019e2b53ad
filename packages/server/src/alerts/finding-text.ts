import { formatDuration } from '@duly/core';

/** `1 job`, `2 jobs`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A duration to the second. Milliseconds of an hour help nobody. */
export function roughDuration(ms: number): string {
  return formatDuration(ms < 1_000 ? ms : Math.floor(ms / 1_000) * 1_000);
}
