import type { SlotTimes } from './slot-times.ts';

/** The slots of a fixed rate: the anchor and every multiple of the rate before and after it, in real time. */
export function createRateTimes({ rateMs, anchorAt }: { rateMs: number; anchorAt: number }): SlotTimes {
  const at = (index: number): number => anchorAt + index * rateMs;
  const indexFrom = (fromAt: number): number => Math.ceil((fromAt - anchorAt) / rateMs);
  const indexTo = (toAt: number): number => Math.floor((toAt - anchorAt) / rateMs);
  return {
    next: (fromAt) => at(indexFrom(fromAt)),
    previous: (toAt) => at(indexTo(toAt)),
    count: (fromAt, toAt) => Math.max(0, indexTo(toAt) - indexFrom(fromAt) + 1),
  };
}
