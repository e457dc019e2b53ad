import type { KillPoint } from './kill-points.ts';

/** The exit code of a process that could not start because the store was full or locked just then. */
export const notNowCode = 75;

/** What the run tells a node. */
export type NodeCommand =
  /** Die, or stop by SIGSTOP, at this point; null: at none. */
  { kind: 'end'; at: KillPoint | null; signal: 'SIGKILL' | 'SIGSTOP' } | { kind: 'block'; forMs: number };

/** What the run tells a client. */
export type ClientCommand =
  /** Die at this point of what it does next. */
  { kind: 'die'; at: 'after enqueue' | 'in a transaction' | 'after a commit' } | { kind: 'finish' };

/** What a process tells the run. */
export type ProcessNews =
  /** `node`: the id that the store knows it by. */
  | { kind: 'ready'; node: string }
  | { kind: 'finished' }
  /** A call to the store failed. */
  | { kind: 'failed'; verb: string; code: string | null };

/** What a process of the run is started with. */
export interface ProcessOptions {
  store: string;
  /** Where histories are written. */
  histories: string;
  /** Its name in the history; a node goes by it and by the id that the store knows it by. */
  name: string;
  seed: number;
  leaseMs: number;
  /** Only nodes: which roles. */
  roles: ('scheduler' | 'worker' | 'maintenance')[];
  /** Only clients: where the numbers of its calls begin. */
  firstCall: number;
}
