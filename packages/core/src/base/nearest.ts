// A longer word is not a slip of the pen, and the table below grows with its square.
const wordLengthMax = 64;

/**
 * The candidate that someone who wrote `word` most likely meant, or undefined if none is close: at most one slip in three
 * letters, where a slip is a letter too many, too few, wrong, or swapped with its neighbour. Case does not count. Of equally
 * close ones the first is taken.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const from = word.toLowerCase();
  if (from === '' || from.length > wordLengthMax) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(from.length / 3)) + 1;
  for (const candidate of candidates) {
    // The lengths alone say that it cannot be closer.
    if (Math.abs(candidate.length - from.length) >= bestDistance) continue;
    const distance = editDistance(from, candidate.toLowerCase());
    // One letter has no slips to spare: every other letter would be "close".
    if (distance < bestDistance && distance < from.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Slips between two words (optimal string alignment distance). */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const current = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      let least = Math.min(
        (previous[j] as number) + 1,
        (current[j - 1] as number) + 1,
        (previous[j - 1] as number) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        least = Math.min(least, (beforePrevious[j - 2] as number) + 1);
      }
      current.push(least);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] as number;
}
