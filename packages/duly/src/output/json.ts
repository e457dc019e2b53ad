import type { Terminal } from './terminal.ts';

let isLines = false;

/** From now on every value stands on one line, and every item of a list on its own: `-o jsonl`. */
export function printJsonAsLines(): void {
  isLines = true;
}

/** Prints one JSON value, indented, or on one line for streams of values. */
export function printJson(out: Terminal, value: unknown, { indent = 2 }: { indent?: number } = {}): void {
  if (isLines) {
    for (const one of isList(value) ? value.data : [value]) out.line(JSON.stringify(one));
    return;
  }
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

function isList(value: unknown): value is ListJson {
  return typeof value === 'object' && value !== null && 'has_more' in value && 'data' in value;
}
