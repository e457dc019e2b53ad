interface Row {
  id: string;
}

/** The same rows in the same places, each as it is now where that is known. */
export function pausedRows<R extends Row>(shown: readonly R[], fresh: readonly R[]): R[] {
  const known = new Map(fresh.map((row) => [row.id, row]));
  return shown.map((row) => known.get(row.id) ?? row);
}

/** How many were made since. Ids are ordered by the instant they were made at. */
export function newCountOf(shown: readonly Row[], fresh: readonly Row[]): number {
  const newestId = shown[0]?.id;
  return newestId === undefined ? fresh.length : fresh.filter(({ id }) => id > newestId).length;
}
