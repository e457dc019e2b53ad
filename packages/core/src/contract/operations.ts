/** The contract for what keeps a store alive: nodes, small settings, forgetting, migrating. */
import type { Actor, GroupReply, JsonText, Reply, Stamp } from './shared.ts';

/** What a node says of itself. */
export interface NodeInfo {
  id: string;
  app: string;
  /** The release of its program; null: none was given. */
  release: string | null;
  /** Ids of the schedules that its code declares, so that a process that declares less takes none of them away; null: too many to say. */
  declares: string[] | null;
  host: string;
  pid: number;
  roles: string[];
  /** The tasks it handles, and how many of each it runs at the same time where they have a limit of their own. */
  tasks: { type: string; version: number; concurrency?: number | null }[];
  queues: string[] | null;
  concurrency: number;
  running: number;
  /** Why it takes no work although it runs, or null. */
  notReady: string | null;
  startedAt: number;
}

/** Sends a heartbeat, leaves, asks to drain, and lists. */
export interface NodesInput extends Stamp {
  heartbeat: NodeInfo | null;
  leave: string | null;
  drain: { id: string; actor: Actor } | null;
  /** Nodes silent for longer than this are forgotten. */
  forgetAfterMs: number;
}

/** The answer to `nodes`. */
export interface NodesReply extends Reply {
  nodes: (NodeInfo & { heartbeatAt: number; drainRequestedAt: number | null })[];
}

/** A small setting. */
export interface SettingRecord {
  kind: string;
  key: string;
  value: JsonText;
  version: number;
  updatedAt: number;
}

/** Reads and writes small settings with compare-and-set. A group is all or nothing. Of kind `cursor` they say where a program stands, and leave no audit row. */
export interface RecordsInput extends Stamp {
  groups: {
    actor: Actor;
    ops: (
      | { op: 'get'; kind: string; key: string }
      | { op: 'list'; kind: string; after: string | null; limit: number }
      /** expectVersion: undefined any, null must not exist, a number exactly that. */
      | { op: 'put'; kind: string; key: string; value: JsonText; expectVersion?: number | null }
      | { op: 'delete'; kind: string; key: string; expectVersion?: number }
    )[];
  }[];
}

/** The answer to `records`: per operation the records it read or wrote. A conflict refuses the group (`records_conflict`). */
export interface RecordsReply extends Reply {
  groups: GroupReply<SettingRecord[]>[];
}

/**
 * A pause: a record of kind `pause` with the key `all`, `queue:<name>` or `type:<type>`. Engines read only these
 * records themselves, because a claim must see them in its transaction.
 */
export interface PauseValue {
  untilAt: number | null;
  by: Actor;
  note: string | null;
  at: number;
}

/** Forgets what is past its time, a bounded amount per call. */
export interface PruneInput extends Stamp {
  limit: number;
  /** Ledger rows whose last slot was decided longer ago than this are compacted. */
  ledgerMs: number;
  /**
   * Beginnings of the spans (months) that old ledger rows are compacted into, ascending: a row goes to the last one that is not after its first slot.
   * One before all of them, or of a schedule that is no more, is forgotten. Left out: none.
   */
  compactStarts?: number[];
  auditMs: number;
  changesMs: number;
}

/** The answer to `prune`. */
export interface PruneReply extends Reply {
  jobs: number;
  keys: number;
  values: number;
  rows: number;
  more: boolean;
}

/** Brings the schema up to this code. */
export interface MigrateInput extends Stamp {
  /** Only say what would be done. */
  dryRun: boolean;
}

/** The answer to `migrate`. */
export interface MigrateReply extends Reply {
  from: number;
  to: number;
  /** Names of the steps that ran, or would. */
  steps: string[];
}
