import type { Terminal } from './terminal.ts';

/** Prints one JSON value, indented, or on one line for streams of values. */
export function printJson(out: Terminal, value: unknown, { indent = 2 }: { indent?: number } = {}): void {
  out.line(JSON.stringify(value, null, indent === 0 ? undefined : indent));
}

/**
 * Plain data with its field names in snake case and its dates as texts. Not for what users wrote (inputs, results, metadata):
 * their field names are theirs.
 */
export function toSnakeCase(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toSnakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      toSnakeCase(one),
    ]),
  );
}
