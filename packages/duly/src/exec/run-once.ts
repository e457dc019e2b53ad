import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import {
  type Clock,
  type Duly,
  DulyError,
  isTerminal,
  type Job,
  type JobStatus,
  type LockHolder,
  type Pause,
  type Task,
  type TaskContext,
} from '@duly/core';
import { type ChildEnd, exitCodeOfEnd, startChild } from './child.ts';
import { type ExecSlot, type SlotRule, slotOf } from './exec-slot.ts';
import type { SignalRelay } from './signal-relay.ts';

/** One call of `duly exec`. */
export interface ExecCall {
  name: string;
  argv: readonly string[];
  rule: SlotRule | null;
  /** How long the name stays taken after a host died. */
  ttlMs: number;
  timeoutMs: number | null;
  delivery: 'at-least-once' | 'at-most-once';
}

/** What it works with. */
export interface ExecDeps {
  duly: Duly;
  clock: Clock;
  relay: SignalRelay;
  stdout: Writable;
  stderr: Writable;
  warn(message: string): void;
}

/** What came of a call. */
export type ExecEnd =
  | {
      result: 'ran';
      slotAt: number | null;
      job: string;
      /** null: the lease was lost, and what became of it here was not recorded. */
      status: JobStatus | null;
      fence: number;
      end: ChildEnd;
    }
  | {
      result: 'lost';
      slotAt: number | null;
      /** Why it is not run here, in words. */
      why: string;
      /** The job that ran, or runs, in its place; null: it is not known. */
      job: string | null;
      host: string | null;
    };

/** What a job of `exec` keeps as its input. */
interface ExecInput {
  command: readonly string[];
  host: string;
  pid: number;
  cwd: string;
  slot: string | null;
}

/**
 * Runs the program if this arrival is the one for its slot: takes the name's lock, creates the slot's job unless there is one, and works on it as a node that knows this one task.
 * A job whose host died is taken over by a later arrival of the same slot; one of an earlier slot is given up. Throws `command_failed` if the program cannot be started.
 */
export async function runOnce(call: ExecCall, deps: ExecDeps): Promise<ExecEnd> {
  const { duly } = deps;
  const run = new OneRun(call, deps);
  const locked = await duly.lock(`exec:${call.name}`, { ttl: call.ttlMs }, ({ signal }) =>
    run.underLock(signal),
  );
  if (locked.acquired) return locked.value;
  return { result: 'lost', slotAt: null, job: null, host: locked.holder.host, why: heldText(locked) };
}

class OneRun {
  readonly #call: ExecCall;
  readonly #deps: ExecDeps;
  readonly #task: Task;
  /** The job that this process may run; null: not known yet. */
  #mine: string | null = null;
  #slot: ExecSlot | null = null;
  #lockSignal: AbortSignal = new AbortController().signal;
  readonly #began = Promise.withResolvers<void>();
  #ended: { fence: number; end: ChildEnd } | null = null;
  #failure: unknown = null;

  constructor(call: ExecCall, deps: ExecDeps) {
    this.#call = call;
    this.#deps = deps;
    const { name, timeoutMs, delivery } = call;
    this.#task = deps.duly.task({
      name: `exec:${name}`,
      retry: 1,
      timeout: timeoutMs ?? 'none',
      delivery,
      run: (context) => this.#work(context),
    });
  }

  async underLock(lockSignal: AbortSignal): Promise<ExecEnd> {
    this.#lockSignal = lockSignal;
    const { duly, relay, warn } = this.#deps;
    const { rule, argv } = this.#call;
    const pause = (await duly.pauses()).find((one) => this.#isOurs(one));
    if (pause !== undefined) return this.#lost(pausedText(pause), null);
    if (rule !== null) this.#slot = slotOf(rule, (await duly.storeNow()).getTime());
    if (this.#slot?.doubt) warn(this.#slot.doubt);
    if (relay.early !== null) return this.#lost(`${relay.early} came before it was started`, null);
    const { slotAt = null } = this.#slot ?? {};
    const input: ExecInput = {
      command: argv,
      host: hostname(),
      pid: process.pid,
      cwd: process.cwd(),
      slot: slotAt === null ? null : new Date(slotAt).toISOString(),
    };
    const handle = await this.#task.now(input, this.#slot === null ? {} : { dedupe: this.#slot.dedupe });
    if (handle.deduped) {
      const job = await handle.get();
      const why = await this.#takenText(job);
      if (why !== null) return this.#lost(why, job);
    }
    this.#mine = handle.id;
    return this.#runJob(handle.id);
  }

  /** Works as a node until the job is over. */
  async #runJob(id: string): Promise<ExecEnd> {
    const { duly, clock } = this.#deps;
    const over = Promise.withResolvers<JobStatus | null>();
    const isOver = ({ id: of, status }: { id: string; status: JobStatus }): void => {
      if (of === id && (isTerminal(status) || this.#ended !== null)) over.resolve(status);
    };
    const offs = [
      duly.on('job.settled', isOver),
      duly.on('job.reaped', isOver),
      duly.on('job.lost', (job) => {
        if (job.id === id) over.resolve(null);
      }),
    ];
    // Somebody paused or cancelled it in this very moment: the crontab's next line must not wait for that.
    const patience = clock.after(this.#call.ttlMs, () => over.resolve(null));
    void this.#began.promise.then(() => patience.cancel());
    await duly.start({ roles: ['worker', 'maintenance'] });
    const status = await over.promise;
    patience.cancel();
    for (const off of offs) off();
    if (this.#failure !== null) throw this.#failure;
    const { slotAt = null } = this.#slot ?? {};
    if (this.#ended !== null) return { result: 'ran', slotAt, job: id, status, ...this.#ended };
    const job = await duly.job(id).get();
    if (!isTerminal(job.status)) await duly.cancel({ id }).catch(() => {});
    return this.#lost(isTerminal(job.status) ? overText(job) : 'it could not be started in time', job);
  }

  /** The handler of its jobs. */
  async #work(context: TaskContext<unknown>): Promise<unknown> {
    const { argv, name } = this.#call;
    const { clock, relay, stdout, stderr } = this.#deps;
    if (context.job.id !== this.#mine) {
      throw new DulyError('command_failed', {
        message: `This run of "${name}" was lost with its host, and nobody arrived to take it over before the next one.`,
        hint: 'Run the command by hand if it is still wanted, or discard this.',
      });
    }
    this.#began.resolve();
    const host = hostname();
    const { fence, attempt, log } = context;
    const { slotAt = null } = this.#slot ?? {};
    const env = {
      ...process.env,
      DULY_JOB_ID: context.job.id,
      DULY_ATTEMPT: String(attempt),
      DULY_FENCE: String(fence),
      ...(slotAt === null ? {} : { DULY_SLOT: new Date(slotAt).toISOString() }),
    };
    try {
      const child = await startChild({
        argv,
        env,
        stdout,
        stderr,
        clock,
        signal: AbortSignal.any([context.signal, this.#lockSignal]),
        onLine: (stream, line) => (stream === 'stdout' ? log.info(line) : log.warn(line)),
      });
      relay.to(child.kill);
      await context.progress(0, `on ${host}, process ${child.pid}`);
      if (relay.early !== null) child.kill(relay.early);
      const end = await child.ended;
      this.#ended = { fence, end };
      if (end.exitCode === 0) return { exit_code: 0, duration_ms: end.durationMs, host, pid: child.pid };
      throw new DulyError('command_failed', {
        message: `The program "${argv[0]}" on ${host} ${endText(end)} after ${end.durationMs} ms.`,
        hint: 'Its output is in the log of the job.',
        details: {
          program: argv[0],
          exitCode: end.exitCode,
          signal: end.signal,
          durationMs: end.durationMs,
          host,
        },
      });
    } catch (error) {
      if (this.#ended === null) this.#failure = error;
      throw error;
    }
  }

  #isOurs({ scope, name }: Pause): boolean {
    return scope === 'all' || (scope === 'type' ? name === this.#task.name : name === 'default');
  }

  /** Why a job that another arrival created is not run here; null: its host died before it was over, and it is. */
  async #takenText(job: Job): Promise<string | null> {
    if (isTerminal(job.status)) return overText(job);
    const isLive =
      job.leaseUntilAt !== null && job.leaseUntilAt.getTime() > (await this.#deps.duly.storeNow()).getTime();
    if (job.status === 'RUNNING' && isLive) return `it runs ${onHost(job)}`;
    if (this.#call.delivery === 'at-most-once' && job.attempts > 0) return `its run ${onHost(job)} was lost`;
    return null;
  }

  #lost(why: string, job: Job | null): ExecEnd {
    const { slotAt = null } = this.#slot ?? {};
    return { result: 'lost', slotAt, why, job: job?.id ?? null, host: job === null ? null : hostOf(job) };
  }
}

/** The exit code that a run of the program has. */
export function exitCodeOf({ end }: { end: ChildEnd }): number {
  return exitCodeOfEnd(end);
}

function endText({ exitCode, signal }: ChildEnd): string {
  return exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
}

/** Where it ran last: a takeover leaves the input of the first arrival. */
function hostOf({ input, progress }: Job): string {
  const { host = 'another host' } = (input ?? {}) as { host?: string };
  return progress.message?.match(whereText)?.[1] ?? host;
}

const whereText = /^on (.+), process \d+$/;

function onHost(job: Job): string {
  return `on ${hostOf(job)} since ${(job.startedAt ?? job.createdAt).toISOString()}`;
}

function overText(job: Job): string {
  return `this slot was taken by ${hostOf(job)} at ${job.createdAt.toISOString()} and is ${job.status}`;
}

function heldText({ holder, until }: { holder: LockHolder; until: Date }): string {
  return `process ${holder.pid} on ${holder.host} has it (until ${until.toISOString()} unless renewed)`;
}

function pausedText({ scope, name, by, note }: Pause): string {
  const what = scope === 'all' ? 'everything' : `${scope} "${name}"`;
  return `${what} was paused by ${by}${note === null ? '' : ` (${note})`}`;
}
