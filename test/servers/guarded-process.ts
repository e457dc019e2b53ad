// A server process that never outlives the process that started it, however that one ends.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { serverUser } from './installed.ts';

/** How a server process is started. */
export interface GuardedOptions {
  program: string;
  args: string[];
  /** The server's own folder; removed if this process dies without having stopped the server. */
  folder: string;
  /** Where its output goes: a file, because a pipe nobody reads would stop the server. */
  logFile: string;
  /** Whether it takes connections now. */
  isReady(pid: number): boolean | Promise<boolean>;
}

/** A running server process. */
export interface GuardedProcess {
  pid: number;
  /** Ends it with a signal and waits until it is gone. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

const readyMsMax = 30_000;
const stopMsMax = 20_000;

/** Starts a server as an unprivileged user and waits until it is ready. */
export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  const log = openSync(options.logFile, 'a');
  const child = spawn(options.program, options.args, {
    ...serverUser(),
    cwd: options.folder,
    stdio: ['ignore', log, log],
    // Its own process group: Ctrl-C in a terminal goes to the tests, and they stop the server in their own way.
    detached: true,
  });
  const exited = once(child, 'exit');
  exited.catch(() => {});
  await once(child, 'spawn');
  const pid = child.pid as number;
  const guard = startGuard(pid, options.folder);

  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      // The process must not end before the server has; until now a running server did not keep it alive.
      child.ref();
      child.kill(signal);
      const late = wait(stopMsMax, 'late', { ref: false });
      if ((await Promise.race([exited, late])) === 'late') {
        child.kill('SIGKILL');
        await exited;
      }
    }
    // Only now: until the server is gone, somebody must see to it.
    guard.kill('SIGKILL');
  }

  const sinceMs = performance.now();
  while (!(await options.isReady(pid))) {
    const isGone = child.exitCode !== null || child.signalCode !== null;
    if (isGone || performance.now() - sinceMs > readyMsMax) {
      await stop('SIGKILL');
      throw new Error(
        `${options.program} ${isGone ? 'ended' : 'was not ready in time'}:\n${tailOf(options.logFile)}`,
      );
    }
    await wait(20);
  }
  child.unref();
  return { pid, stop };
}

/**
 * A shell that waits for the end of a pipe which only this process holds. When this process is gone, for whatever reason, the pipe
 * ends, and the shell stops the server by its id and removes its folder.
 */
function startGuard(pid: number, folder: string): ChildProcess {
  const script = `read _; kill -INT "$1" || exit 0
n=0; while kill -0 "$1" 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done
kill -KILL "$1" 2>/dev/null; rm -rf "$2"`;
  const guard = spawn('/bin/sh', ['-c', script, 'guard', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

/** A port on loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Removes a server's folder. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

function tailOf(file: string): string {
  return readFileSync(file, 'utf8').split('\n').slice(-20).join('\n');
}
