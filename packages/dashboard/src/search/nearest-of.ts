/** The word of a list that is the fewest changes of a letter away. */
export function nearestOf(word: string, list: readonly string[]): string {
  let best = list[0] as string;
  let fewest = Number.POSITIVE_INFINITY;
  for (const one of list) {
    const count = distance(word.toLowerCase(), one.toLowerCase());
    if (count < fewest) {
      best = one;
      fewest = count;
    }
  }
  return best;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
