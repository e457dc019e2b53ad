import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Ability, Contestant, ContestantPlace } from './contestant.ts';
import { killIfInterrupted } from './interruption.ts';

/** What the harness tells a contestant's process. */
export interface ToChild {
  id: number;
  ability: Ability | 'close';
  args: unknown[];
}

/** What a contestant's process tells. */
export type FromChild =
  | { kind: 'ready'; abilities: string[] }
  | { kind: 'refused'; reason: string }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'failed'; id: number; reason: string };

/** Who takes part, and where its code is. */
export interface Entrant {
  name: string;
  module: URL;
  /** A peer that is given as many jobs as Duly; others are given few, because they are slow and need no more to show it. */
  isFast?: boolean;
  /** More arguments for its Node. */
  execArgv?: string[];
  /** Options for all its threads, such as `--cpu-prof`: arguments do not reach threads that are given their own. */
  nodeOptions?: string;
}

/** A contestant at work in its own process. */
export interface Session {
  readonly name: string;
  has(ability: Ability): boolean;
  /** Asks for an ability; rejects if it failed or its process ended. */
  ask<Name extends Ability>(
    ability: Name,
    ...args: Parameters<NonNullable<Contestant[Name]>>
  ): ReturnType<NonNullable<Contestant[Name]>>;
  close(): Promise<void>;
  /** Resolves when its process has ended, however that came. */
  readonly ended: Promise<void>;
}

/** A contestant cannot take part here, for a reason to show and not to fail by. */
export class Refused extends Error {}

const child = new URL('./child.ts', import.meta.url);
// Whatever a contestant does, it does it within this; one that hangs must not hang the run.
const askMsMax = 65 * 60_000;

/** Starts a contestant's process. Rejects with `Refused` when it cannot take part. */
export async function openSession(entrant: Entrant, place: ContestantPlace): Promise<Session> {
  const one = fork(child, [entrant.module.href, JSON.stringify(place)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    ...(entrant.nodeOptions === undefined
      ? {}
      : { env: { ...process.env, NODE_OPTIONS: entrant.nodeOptions } }),
    execArgv: ['--disable-warning=ExperimentalWarning', ...(entrant.execArgv ?? [])],
  });
  killIfInterrupted(one);
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const abilities = new Promise<Set<string>>((resolve, reject) => {
    one.on('message', (message: FromChild) => {
      if (message.kind === 'ready') resolve(new Set(message.abilities));
      else if (message.kind === 'refused') reject(new Refused(message.reason));
      else {
        const asked = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.kind === 'answer') asked?.resolve(message.value);
        else asked?.reject(new Error(`${entrant.name}: ${message.reason}`));
      }
    });
    one.once('exit', (code, signal) => {
      const error = new Error(`The process of ${entrant.name} ended with ${signal ?? code}.`);
      reject(error);
      for (const asked of waiting.values()) asked.reject(error);
    });
  });
  const ended = once(one, 'exit').then(() => {});
  const able = await abilities;
  let asked = 0;

  function ask(ability: Ability | 'close', args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++asked;
      const limit = setTimeout(() => {
        waiting.delete(id);
        reject(new Error(`${entrant.name} did not answer "${ability}" within ${askMsMax / 60_000} minutes.`));
      }, askMsMax);
      const settle =
        <Value>(how: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(limit);
          how(value);
        };
      waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
      const message: ToChild = { id, ability, args };
      // One that has ended meanwhile hears nothing: without this its channel would end the run.
      one.send(message, (error) => {
        if (error !== null) waiting.get(id)?.reject(error);
      });
    });
  }

  return {
    name: entrant.name,
    has: (ability) => able.has(ability),
    ask: ((ability: Ability, ...args: unknown[]) => ask(ability, args)) as Session['ask'],
    close: () => end(one, () => ask('close', [])),
    ended,
  };
}

/** Asks a process to end, and ends it if it does not. */
async function end(one: ChildProcess, askToClose: () => Promise<unknown>): Promise<void> {
  if (one.exitCode !== null || one.signalCode !== null) return;
  const exited = once(one, 'exit');
  const limit = setTimeout(() => one.kill('SIGKILL'), 10_000);
  if (one.connected) await askToClose().catch(() => {});
  await exited;
  clearTimeout(limit);
}
