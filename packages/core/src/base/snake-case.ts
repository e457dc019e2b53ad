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

/** A field's name in snake case. */
export function snakeName(name: string): string {
  return name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function nameOf(name: string): string {
  const snake = snakeName(name);
  return instants.has(snake) ? `${snake}_at` : snake;
}
