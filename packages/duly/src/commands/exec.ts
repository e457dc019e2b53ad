import { Duly, defaultStore, systemClock } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount, readDuration, usageError } from '../cli/usage.ts';
import { terminalActor } from '../client/client.ts';
import { givenStore, inline, isNew, refuseMemory, refuseUnmakable } from '../client/store.ts';
import { readSlotRule } from '../exec/exec-slot.ts';
import { type ExecCall, type ExecEnd, exitCodeOf, runOnce } from '../exec/run-once.ts';
import { openSignalRelay } from '../exec/signal-relay.ts';
import { printError } from '../output/errors.ts';
import { printJson } from '../output/json.ts';
import { loadProject } from '../project/load.ts';

interface ExecOptions extends CommonOptions {
  name: string;
  slot?: string;
  timezone?: string;
  ttl?: string;
  timeout?: string;
  atMostOnce?: boolean;
  lostExit?: string;
  quiet?: boolean;
}

const ttlMsDefault = 5 * 60_000;
// Three heartbeats of the lease, and what a busy store takes for each.
const ttlMsMin = 1_000;

/** `duly exec`: runs a program on one of the hosts that ask for it, and records the run as a job. */
export async function exec(context: CommandContext, options: ExecOptions, argv: string[]): Promise<number> {
  const call = readCall(options, argv);
  const lostExit = readLostExit(options.lostExit);
  const store = await storeOf(options);
  refuseMemory(store);
  refuseUnmakable(store);
  if (isNew(store)) context.warn(`There was no store at "${store}" yet; it is created.`);
  // A reader that has gone away must not end us while the program runs: nobody would renew its lease.
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => {});
  const relay = openSignalRelay();
  // Not what the store's settings are good for: cron would mail it with every run, and `doctor` tells it.
  const warn = (fields: object, message: string): void => {
    if ('error' in fields) context.warn(message);
  };
  const duly = new Duly({
    store: inline(store),
    app: 'duly-exec',
    actor: terminalActor(),
    lease: call.ttlMs,
    logger: { debug() {}, info() {}, warn, error: warn },
  });
  try {
    const { stdout, stderr } = process;
    const deps = { duly, clock: systemClock, relay, stdout, stderr, warn: context.warn };
    const end = await runOnce(call, deps);
    if (context.json) printJson(context.out, toJson(call, end), { indent: 0 });
    if (end.result === 'lost') {
      if (!context.json && !options.quiet)
        context.err.line(`duly exec: ${call.name} is not run here: ${end.why}.`);
      return lostExit;
    }
    if (end.status === null) {
      context.warn(
        `The run of "${call.name}" lost its lease and was ended; it is not recorded as done. Another host may have begun it again.`,
      );
    }
    return exitCodeOf(end);
  } catch (error) {
    const { exitCode } = ((error as { details?: { exitCode?: number } }).details ?? {}) as {
      exitCode?: number;
    };
    if (exitCode === undefined) throw error;
    printError(context.err, error, context.json);
    return exitCode;
  } finally {
    await duly.stop();
    relay.close();
  }
}

function readCall(options: ExecOptions, argv: readonly string[]): ExecCall {
  const { name, slot, timezone, ttl, timeout } = options;
  if (name.trim() === '') throw usageError('Expected --name to be a name, got an empty text.');
  return {
    name,
    argv,
    rule: readSlotRule(slot, timezone),
    ttlMs: ttl === undefined ? ttlMsDefault : readDuration(ttl, '--ttl', { minMs: ttlMsMin }),
    timeoutMs: timeout === undefined ? null : readDuration(timeout, '--timeout', { minMs: 1 }),
    delivery: options.atMostOnce ? 'at-most-once' : 'at-least-once',
  };
}

function readLostExit(text: string | undefined): number {
  const code = readCount(text, '--lost-exit') ?? 0;
  if (code >= 0 && code <= 255) return code;
  throw usageError(`Expected --lost-exit to be 0 to 255, got "${text}".`);
}

/** The config is read for its store alone, and only where nothing else names one: the program is what runs. */
async function storeOf(options: ExecOptions): Promise<string> {
  const given = givenStore(options.store);
  if (given !== undefined && options.config === undefined) return given;
  const project = await loadProject({ config: options.config, withTasks: false });
  return given ?? project.duly?.store ?? project.options.store ?? defaultStore;
}

function toJson({ name }: ExecCall, end: ExecEnd): Record<string, unknown> {
  const slot = end.slotAt === null ? null : new Date(end.slotAt).toISOString();
  if (end.result === 'lost') {
    return { result: 'lost', name, slot, why: end.why, job_id: end.job, host: end.host };
  }
  const { exitCode, signal, durationMs } = end.end;
  return {
    result: 'ran',
    name,
    slot,
    job_id: end.job,
    status: end.status,
    fence: end.fence,
    exit_code: exitCode,
    signal,
    duration_ms: durationMs,
  };
}
