/** Counts how often played seeds exercised each invariant, for `npm run simulate -- --coverage`. */

/** How many seeds exercised an invariant, or one part of it. */
export interface CoverageRow {
  name: string;
  seedCount: number;
  /** The share of the seeds that exercised it, from 0 to 1. */
  share: number;
  comparisonsPerSeed: number;
  isRare: boolean;
}

/** Collects the counts of one seed after the other. */
export interface Coverage {
  add(counts: Readonly<Record<string, number>>): void;
  /** The rarest first. */
  rows(): CoverageRow[];
}

// Anything below 1 % needs worlds of its own.
const rareShare = 0.01;

/** Creates an empty coverage. Each name has a row, even if no seed exercises it. */
export function createCoverage(names: readonly string[]): Coverage {
  const totals = new Map(names.map((name) => [name, { seedCount: 0, comparisons: 0 }]));
  let playedCount = 0;
  return {
    add(counts) {
      playedCount++;
      for (const [name, total] of totals) {
        const count = counts[name] ?? 0;
        total.comparisons += count;
        if (count > 0) total.seedCount++;
      }
    },
    rows() {
      const played = Math.max(1, playedCount);
      return [...totals]
        .map(([name, { seedCount, comparisons }]) => {
          const share = seedCount / played;
          const comparisonsPerSeed = comparisons / played;
          return { name, seedCount, share, comparisonsPerSeed, isRare: share < rareShare };
        })
        .sort(
          (one, other) =>
            one.seedCount - other.seedCount || one.comparisonsPerSeed - other.comparisonsPerSeed,
        );
    },
  };
}

/** The rows as a table, with a mark at those that fewer than 1 of 100 seeds exercised. */
export function describeCoverage(rows: readonly CoverageRow[]): string {
  const head = ['invariant', 'seeds', '%', 'per seed', ''];
  const cells = rows.map(({ name, seedCount, share, comparisonsPerSeed, isRare }) => [
    name,
    String(seedCount),
    (share * 100).toFixed(1),
    comparisonsPerSeed.toFixed(2),
    isRare ? 'below 1 %' : '',
  ]);
  const widths = head.map((text, i) => Math.max(text.length, ...cells.map((row) => row[i]?.length ?? 0)));
  return [head, ...cells]
    .map((row) =>
      row
        .map((text, i) => (i === 0 || i === 4 ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
