/** The processes of a chaos run: nodes that are started again when they die, and a client. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import type { HistoryEvent } from '../history.ts';
import {
  type ClientCommand,
  type NodeCommand,
  notNowCode,
  type ProcessNews,
  type ProcessOptions,
} from './commands.ts';
import type { Seat } from './ground.ts';

/** A process of the run. */
export interface FleetProcess {
  readonly name: string;
  readonly role: 'node' | 'client';
  readonly child: ChildProcess;
  readonly seat: Seat;
  /** The id that the store knows it by; its name until it is ready. */
  node: string;
  isReady: boolean;
  /** How many of its calls to the store have failed. */
  failedCount: number;
  /** A fault has it; no other is to choose it. */
  isBusy: boolean;
}

/** The processes of a run. */
export interface Fleet {
  /** Those that live. */
  readonly processes: ReadonlySet<FleetProcess>;
  /** Starts one and waits until it is ready, or dead. */
  start(role: 'node' | 'client', options?: Partial<ProcessOptions>): Promise<FleetProcess>;
  send(to: FleetProcess, command: NodeCommand | ClientCommand): void;
  /** Resolves with the end of a process: its exit code, or null if it was killed. */
  ended(one: FleetProcess): Promise<number | null>;
  /** Kills what still lives; nobody is started after that. */
  killAll(): Promise<void>;
  /** Processes that ended by themselves though nobody killed them, in words. */
  readonly failed: readonly string[];
  /** How often each code was met so far, by `verb: code`. */
  readonly failures: ReadonlyMap<string, number>;
}

/** How the processes of a fleet are started. */
export interface FleetOptions {
  folder: string;
  /** Where a process is to sit. */
  seat(role: 'node' | 'client'): Promise<Seat>;
  histories: string;
  leaseMs: number;
  seed: number;
  write(event: HistoryEvent): void;
  now(): number;
  /** Told of every process that ended. */
  onEnded(one: FleetProcess): void;
}

const failedCountMax = 3;
// A store that cannot be reached is told of within 20 s; a machine that has much else to do needs a minute or two to load a process.
const readyMsMax = 240_000;

/** Makes a fleet without processes. */
export function createFleet(options: FleetOptions): Fleet {
  const processes = new Set<FleetProcess>();
  const failures = new Map<string, number>();
  const failed: string[] = [];
  const ends = new Map<FleetProcess, Promise<number | null>>();
  let startedCount = 0;
  let isClosed = false;

  async function start(role: 'node' | 'client', given: Partial<ProcessOptions> = {}): Promise<FleetProcess> {
    startedCount++;
    const number = startedCount;
    const name = `${role}-${number}`;
    const seat = await options.seat(role);
    if (isClosed) {
      seat.release();
      throw new Error('The run is over: nobody is started any more.');
    }
    const [program = process.execPath, ...before] = [...seat.command, process.execPath];
    const log = openSync(join(options.folder, `${name}.log`), 'a');
    const child = fork(
      new URL(`./${role}-process.ts`, import.meta.url),
      [
        JSON.stringify({
          store: seat.store,
          histories: options.histories,
          name,
          seed: options.seed + number,
          leaseMs: options.leaseMs,
          roles: ['scheduler', 'worker', 'maintenance'],
          // Numbers of calls are unique in a run.
          firstCall: number * 1_000_000,
          ...given,
        } satisfies ProcessOptions),
      ],
      {
        stdio: ['ignore', log, log, 'ipc'],
        env: { ...process.env, ...seat.env },
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
      },
    );
    closeSync(log);
    const one: FleetProcess = {
      name,
      role,
      child,
      seat,
      node: name,
      isReady: false,
      failedCount: 0,
      isBusy: false,
    };
    processes.add(one);
    const end = once(child, 'exit').then(([code, signal]) => {
      processes.delete(one);
      seat.release();
      if (code !== null && code !== 0 && code !== notNowCode) {
        failed.push(`${name} ended by itself with ${code}; see ${name}.log.`);
      }
      if (signal !== null)
        options.write({ kind: 'node', at: options.now(), node: one.node, state: 'crashed' });
      options.onEnded(one);
      return code as number | null;
    });
    ends.set(one, end);
    const patience = new AbortController();
    const late = systemClock.sleep(readyMsMax, patience.signal).then(() => 'late' as const);
    const news = await Promise.race([ready(one), end, late]);
    patience.abort();
    if (news === 'late' && processes.has(one)) {
      failed.push(`${name} was neither ready nor at its end after ${readyMsMax / 1_000} s.`);
      child.kill('SIGKILL');
      await end;
    }
    // A process that cannot even start would be started again and again.
    if (failed.length > failedCountMax) throw new Error(failed.join(' '));
    return one;
  }

  function ready(one: FleetProcess): Promise<void> {
    return new Promise((resolve) => {
      one.child.on('message', (news: ProcessNews) => {
        if (news.kind === 'ready') {
          one.isReady = true;
          one.node = news.node;
          resolve();
        } else if (news.kind === 'failed') {
          one.failedCount++;
          const failure = `${news.verb}: ${news.code}`;
          failures.set(failure, (failures.get(failure) ?? 0) + 1);
        }
      });
    });
  }

  const ended = (one: FleetProcess) => ends.get(one) as Promise<number | null>;
  return {
    processes,
    failures,
    failed,
    start,
    ended,
    send(to, command) {
      // One that has just died hears nothing any more.
      if (to.child.connected) to.child.send(command, () => {});
    },
    async killAll() {
      isClosed = true;
      for (const one of [...processes]) {
        one.child.kill('SIGKILL');
        await ended(one);
      }
    },
  };
}
