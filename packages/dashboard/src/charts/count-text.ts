/** `12`, `0.4`, `12.5 k`: a count at an axis. */
export function countText(value: number): string {
  if (value >= 10_000) return `${(value / 1_000).toFixed(value >= 100_000 ? 0 : 1)} k`;
  return String(value >= 10 ? Math.round(value) : Math.round(value * 10) / 10);
}
