import type { Terminal } from './terminal.ts';

/** Prints one JSON value, indented, or on one line for streams of values. */
export function printJson(out: Terminal, value: unknown, { indent = 2 }: { indent?: number } = {}): void {
  out.line(JSON.stringify(value, null, indent === 0 ? undefined : indent));
}

/** A list in the one shape that all lists have. */
export interface ListJson {
  data: unknown[];
  has_more: boolean;
  next_cursor: string | null;
}

/** Puts a list into its shape; without a cursor it is whole. */
export function listJson(data: unknown[], nextCursor: string | null = null): ListJson {
  return { data, has_more: nextCursor !== null, next_cursor: nextCursor };
}
