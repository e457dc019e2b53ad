import type { UpcomingReply } from '../../contract/engine.ts';

/** What was counted of each type, put together. A type of which one more than `cap` was seen has more than that. */
export function addSteps(
  counted: readonly { type: string; step: number; count: number }[],
  { fromAt, stepMs, cap }: { fromAt: number; stepMs: number; cap: number },
): Pick<UpcomingReply, 'steps' | 'capped'> {
  const counts = new Map<number, number>();
  const seen = new Map<string, number>();
  for (const { type, step, count } of counted) {
    counts.set(step, (counts.get(step) ?? 0) + count);
    seen.set(type, (seen.get(type) ?? 0) + count);
  }
  return {
    steps: [...counts]
      .sort(([one], [other]) => one - other)
      .map(([step, count]) => ({ fromAt: fromAt + step * stepMs, count })),
    capped: [...seen.values()].some((count) => count > cap),
  };
}
