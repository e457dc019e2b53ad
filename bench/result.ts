/** How a figure is shown. */
export type Unit = 'per second' | 'ms' | 's' | '%' | 'MB' | '×' | 'jobs';

/** The target of a measure. */
export interface Target {
  /** In words, for the table. */
  text: string;
  /** Whether the ratio to bare, the figure itself, or the ratio to the best peer is judged. */
  of: 'ratio' | 'value' | 'peer';
  /** Only shown, with the reason: the run was not of the kind that the target is about. */
  notJudged?: string;
  atLeast?: number;
  atMost?: number;
}

/** What became of a target. */
export type Verdict = 'pass' | 'short' | 'no target' | 'not measured' | 'not judged';

/** A peer's figure, or why there is none. */
export interface PeerFigure {
  name: string;
  value: number | null;
  note?: string;
}

/** One line of the table. */
export interface Result {
  /** The measure it belongs to: what `--only` names. */
  measure: string;
  title: string;
  unit: Unit;
  /** Whether more is better. */
  isMoreBetter: boolean;
  duly: number | null;
  bare: number | null;
  peers: PeerFigure[];
  /** Duly's figure over bare's, as the median of the rounds' own ratios. */
  ratio: number | null;
  target: Target | null;
  /** What else is worth knowing: the rounds, the spread. */
  details?: Record<string, unknown>;
}

/** Judges a result by its target. */
export function judge({ target, ratio, duly, peers, isMoreBetter }: Result): Verdict {
  if (target === null) return 'no target';
  if (target.notJudged !== undefined) return 'not judged';
  const known = peers.map(({ value }) => value).filter((value) => value !== null);
  const best = known.length === 0 ? null : isMoreBetter ? Math.max(...known) : Math.min(...known);
  const judged =
    target.of === 'value'
      ? duly
      : target.of === 'ratio'
        ? ratio
        : duly === null || best === null
          ? null
          : duly / best;
  if (judged === null || Number.isNaN(judged)) return 'not measured';
  const isEnough = target.atLeast === undefined || judged >= target.atLeast;
  const isWithin = target.atMost === undefined || judged <= target.atMost;
  return isEnough && isWithin ? 'pass' : 'short';
}
