// A reply that took longer may have been written long before it arrived: the store was slow, or the event loop was blocked.
const quickMs = 100;

/**
 * The monotonic instant from which the times in a reply of the store count. A quick reply counts from its arrival, so that a wait is never too
 * short. A slow one counts from its request, so that a wait is never too long; if it is too short, the next reply says what is left.
 */
export function replyElapsed(sentElapsed: number, arrivedElapsed: number): number {
  return arrivedElapsed - sentElapsed <= quickMs ? arrivedElapsed : sentElapsed;
}
