/** How often a node sends a heartbeat. */
export const nodeHeartbeatMs = 10_000;
/** A node silent for longer counts as gone: three heartbeats, and one for a slow store. */
export const nodeSilentMs = 40_000;
/**
 * The longest wait of workers and schedulers between two calls to a store that is away. A call that gets no answer ends after its own time
 * limit first; the other loops of a node may wait longer.
 */
export const awayRetryMsMax = 500;
