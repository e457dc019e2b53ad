/** How often a node sends a heartbeat. */
export const nodeHeartbeatMs = 10_000;
/** A node silent for longer counts as gone: three heartbeats, and one for a slow store. */
export const nodeSilentMs = 40_000;
