/**
 * A set of wall times, before any zone: seconds since 1970-01-01T00:00 on a clock that is never changed. What asks for more than
 * there is gets an infinity, so that comparisons need no special case.
 */
export interface WallTimes {
  /** The first wall time of the set that is not before this one; `Infinity` if there is none. */
  next(wall: number): number;
  /** The last wall time of the set that is not after this one; `-Infinity` if there is none. */
  previous(wall: number): number;
  /** How many there are from `from` up to, but not including, `to`; null if counting would take too long. */
  count(from: number, to: number): number | null;
}
