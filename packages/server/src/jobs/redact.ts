/** What stands where something is not shown. */
export const redactedText = '[redacted]';

/** The value without what stands at these paths; `*` is any field or index. The value itself is left as it is. */
export function redacted(value: unknown, paths: readonly string[]): unknown {
  return paths.reduce((shown, path) => at(shown, path.split('.')), value);
}

function at(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return redactedText;
  if (Array.isArray(value)) {
    return value.map((one, i) => (name === '*' || name === String(i) ? at(one, rest) : one));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [
      field,
      name === '*' || name === field ? at(one, rest) : one,
    ]),
  );
}

/** Whether a path leads to something that is not shown. */
export function isHidden(path: string, paths: readonly string[]): boolean {
  const names = path.split('.');
  return paths.some((hidden) => {
    const parts = hidden.split('.');
    return parts.length <= names.length && parts.every((part, i) => part === '*' || part === names[i]);
  });
}

/** The first place at these paths that holds what is shown instead of a value; null: none does. */
export function redactedPlace(value: unknown, paths: readonly string[]): string | null {
  for (const path of paths) {
    const found = placeIn(value, path.split('.'));
    if (found !== null) return found.join('.');
  }
  return null;
}

function placeIn(value: unknown, path: readonly string[]): string[] | null {
  const [name, ...rest] = path;
  if (name === undefined) return value === redactedText ? [] : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const [field, one] of Object.entries(value)) {
    const found = name === '*' || name === field ? placeIn(one, rest) : null;
    if (found !== null) return [field, ...found];
  }
  return null;
}
