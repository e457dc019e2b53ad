// After an outage every schedule may be overdue. Calls of other users must get in between.
const batchSize = 20;

/** The results for all items, with at most 20 reads in flight. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += batchSize)
    results.push(...(await Promise.all(items.slice(at, at + batchSize).map(read))));
  return results;
}
