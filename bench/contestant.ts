/**
 * What takes part in a measure: Duly, the bare loop, and peers. Each lives in a process of its own, so that nobody runs on another's
 * heap or compiled code, and does what the harness asks of it. An ability that is missing is a measure it takes no part in.
 */

import type { SustainOptions, SustainWindow } from './sustain.ts';

/** Where a contestant works. */
export interface ContestantPlace {
  /** A folder of its own, empty or filled before by a contestant of the same store. */
  folder: string;
  /** A folder that the whole run shares, for what is found out once. */
  shared: string;
  /** Address of the store for Duly, such as `sqlite:<folder>/duly.db`. */
  url: string;
}

/** What an idle node costs. */
export interface IdleCost {
  /** Calls of the engine in a second; null: there is no engine. */
  callsPerSecond: number | null;
  /** Share of one core, all threads of the process together. */
  cpuPercent: number;
}

/** What a node did at the one instant at which many schedules fell due. */
export interface BurstNews {
  /** Schedules that this node decided, and jobs that it started. */
  firedCount: number;
  startedCount: number;
  /** By the machine's monotonic clock; null: none. */
  firstFiredElapsed: number | null;
  lastFiredElapsed: number | null;
  lastStartedElapsed: number | null;
}

/** One that takes part. Durations are in milliseconds; `…Elapsed` are instants of the machine's monotonic clock. */
export interface Contestant {
  /** Makes jobs one after the other, each durable before the next; answers how long it took. */
  enqueueOneByOne?(count: number): Promise<number>;
  /** Makes jobs with so many calls in flight. */
  enqueueInFlight?(count: number, inFlight: number): Promise<number>;
  /** The same with a NOTIFY in each commit, where that is not how it is done anyway. */
  enqueueNotifying?(count: number, inFlight: number): Promise<number>;
  /** Makes jobs in groups of this size. */
  enqueueBulk?(count: number, size: number): Promise<number>;
  /** Puts ready no-ops into the store that nobody takes yet. */
  fill?(count: number): Promise<void>;
  /** Runs what `fill` made until the last outcome is recorded; answers how long it took. */
  drain?(count: number): Promise<number>;
  /** From the call that makes a job to the start of its handler in the same process, one at a time, idle in between. */
  latencyHere?(count: number): Promise<number[]>;
  /** The bare of `latencyHere` asked for across a thread, for a store that works in one: a message there and one back. */
  latencyAcross?(count: number): Promise<number[]>;
  /** Waits for the jobs of `send` as a node would. */
  listen?(): Promise<void>;
  /** Makes jobs one at a time with a pause in between; answers when each call was made. */
  send?(count: number, gapMs: number): Promise<number[]>;
  /** Makes each job in a transaction of its own; answers when each COMMIT was called. */
  sendInTransaction?(count: number, gapMs: number): Promise<number[]>;
  /** When each job of `send` was started here, in the order of their numbers. */
  received?(count: number): Promise<number[]>;
  /** Makes jobs that fall due one by one over this span, runs them, and answers how late each one started; below zero is early. */
  precision?(count: number, overMs: number): Promise<number[]>;
  /** Makes jobs that are due in a year. */
  fillFuture?(count: number): Promise<void>;
  /** Makes schedules that are all due at this instant of the store's clock, with names and inputs from this number on. */
  createSchedules?(count: number, dueAt: number, firstNumber?: number): Promise<void>;
  /** Starts a node that tells of the burst; called again, it counts from there on. */
  awaitBurst?(): Promise<void>;
  /** Makes the node of `awaitBurst` die by `kill -9` when it holds schedules that it has not decided, after it decided some. */
  dieInBurst?(): Promise<void>;
  /** What this node did so far. */
  burstNews?(): Promise<BurstNews>;
  /** Writes the rows of so many decided schedules as fast as the store can; answers how long it took. */
  writeBurst?(count: number): Promise<number>;
  /** What the store's clock shows at an instant of the monotonic clock. */
  storeTime?(elapsed: number): Promise<number>;
  /** Keeps up a load and answers a window for every five seconds. */
  sustain?(options: SustainOptions): Promise<SustainWindow[]>;
  /** Runs a node with nothing to do for so long. */
  idle?(forMs: number): Promise<IdleCost>;
  /** Statements in a second that such a node gives its store. */
  idleStatements?(forMs: number): Promise<number>;
  /** Runs a node for a moment; answers the memory of the process in bytes. */
  memory?(): Promise<number>;
  /** Processor time that the process has used so far, all its threads together. Every contestant has it. */
  processorMs?(): Promise<number>;
  /** Ends. The process ends after it. */
  close(): Promise<void>;
}

/** Something that can be asked of a contestant. */
export type Ability = Exclude<keyof Contestant, 'close'>;

/** What a contestant's module exports. */
export interface ContestantModule {
  createContestant(place: ContestantPlace): Promise<Contestant>;
}

/** Milliseconds of the machine's monotonic clock, the same in every process of one boot. */
export function elapsed(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** How long before the first of so many delayed jobs is due they are made, so that making them does not disturb what is measured. */
export function leadMs(count: number): number {
  return 500 + count;
}

/** Waits this long. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
