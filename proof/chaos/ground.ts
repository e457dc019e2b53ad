/** What a chaos run stands on: one kind of store, where its processes sit, what can go wrong with it, and what is looked at in the end. */
import type { ChildProcess } from 'node:child_process';
import type { Random } from '../../packages/core/src/base/random.ts';
import type { Violation } from '../checker/index.ts';
import type { FaultKind } from './faults/fault.ts';

/** Where one process of the run sits: how it reaches the store, and what its world looks like. */
export interface Seat {
  /** The address it opens. */
  store: string;
  /** What its program is started with, such as one that enters a network namespace. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Somebody else may have it. */
  release(): void;
}

/** A kind of store, made ready for one run. */
export interface Ground {
  /** The engine's name on the command line, with what else it was told. */
  readonly engine: string;
  /** How long a job's lease is: short, so that a minute holds many; yet an ordinary hiccup of a busy machine must not end it. */
  readonly leaseMs: number;
  /** Calls whose instants are closer than this may have taken effect in either order. */
  readonly unorderedMs: number;
  /** What goes wrong here beside its processes. */
  readonly faults: readonly FaultKind[];
  /** How faults are made on this machine, for the report. */
  readonly notes: readonly (readonly [string, string])[];
  seat(role: 'node' | 'client'): Promise<Seat>;
  /** The address for the run itself, when all faults are over. */
  store(): string;
  /** Stops a process with SIGSTOP where that keeps nobody else from writing. */
  freeze(one: ChildProcess): void;
  /** Whether a process that was stopped anywhere may keep all others from writing. */
  readonly stopMayLock: boolean;
  /** Whether somebody can write now. */
  canWrite(): boolean;
  /** What is wrong with the store itself, in the end. */
  check(): Promise<Violation[]>;
  close(options: { keep: boolean }): Promise<void>;
}

/** What a ground is made with. */
export interface GroundOptions {
  /** The folder of the run. */
  folder: string;
  random: Random;
  /** PostgreSQL: a pooler in transaction mode stands between. */
  hasPooler?: boolean;
}
