/** The verbs of this engine, from the files of this folder. Each is exported under its name in the contract. */
export * from './act.ts';
export * from './enqueue.ts';
export * from './exchange.ts';
export * from './lease.ts';
export * from './list.ts';
export * from './locks.ts';
export * from './nodes.ts';
export * from './prune.ts';
export * from './records.ts';
export * from './report.ts';
export * from './schedules.ts';
export * from './stats.ts';
export * from './transfer.ts';
export * from './upcoming.ts';
export * from './values.ts';
