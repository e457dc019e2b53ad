// The processes of the load test: each does what it is asked over its channel.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { killIfInterrupted, leaveSignalsToHarness } from '../interruption.ts';

/** What a process can be asked: calls by name. */
export type Calls = Record<string, (...args: never[]) => Promise<unknown>>;

/** A process at work. */
export interface Part<Known extends Calls> {
  ask<Name extends keyof Known & string>(
    name: Name,
    ...args: Parameters<Known[Name]>
  ): ReturnType<Known[Name]>;
  close(): Promise<void>;
}

/** Serves calls in a process that `openPart` started. */
export function serveCalls(calls: Calls): void {
  leaveSignalsToHarness();
  process.on('message', async ({ id, name, args }: { id: number; name: string; args: never[] }) => {
    try {
      process.send?.({ id, value: await calls[name]?.(...args) });
    } catch (error) {
      process.send?.({ id, reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
    if (name === 'close') process.disconnect?.();
  });
  process.send?.({ id: 0 });
}

/** Starts a process of the load test. */
export async function openPart<Known extends Calls>(
  module: string,
  argument: string,
  { profile }: { profile?: string | undefined } = {},
): Promise<Part<Known>> {
  const one: ChildProcess = fork(new URL(module, import.meta.url), [argument], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--expose-gc',
      ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]),
    ],
  });
  killIfInterrupted(one);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  one.on('message', ({ id, value, reason }: { id: number; value?: unknown; reason?: string }) => {
    if (reason === undefined) waiting.get(id)?.resolve(value);
    else waiting.get(id)?.reject(new Error(`${module}: ${reason}`));
    waiting.delete(id);
  });
  one.once('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${module} ended with ${signal ?? code}.`));
  });
  const ready = Promise.withResolvers<unknown>();
  waiting.set(0, ready);
  await ready.promise;
  const ask = (name: string, args: unknown[]): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(++asked, answer);
    // One that has ended meanwhile hears nothing: without this its channel would end the run.
    one.send({ id: asked, name, args }, (error) => {
      if (error !== null) answer.reject(error);
    });
    return answer.promise;
  };
  return {
    ask: ((name: string, ...args: unknown[]) => ask(name, args)) as unknown as Part<Known>['ask'],
    async close() {
      const exited = once(one, 'exit');
      await ask('close', []).catch(() => {});
      await exited;
    },
  };
}
