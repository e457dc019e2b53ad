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

// Instants whose name in the library does not end in "At". Programs are told by the name what is an instant.
const instants = new Set(['since', 'until', 'as_of']);

/**
 * Plain data with its field names in snake case and its dates as texts under names that end in `_at`. Not for what users wrote
 * (inputs, results, metadata): their field names are theirs.
 */
export function toSnakeCase(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [nameOf(name), toSnakeCase(one)]));
}

function nameOf(name: string): string {
  const snake = name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return instants.has(snake) ? `${snake}_at` : snake;
}
