import { type Duration, parseDuration } from '../base/duration.ts';
import { dulyError } from '../base/errors.ts';
import { parseInstant } from '../base/instant.ts';
import { fromJson, resultBytesMax, toJson } from '../base/json.ts';
import type { ClaimedJob, JobSlot, JsonText, Progress } from '../contract/engine.ts';
import type { SlotDetails } from '../contract/schedules.ts';
import type { LogLevel, TaskContext } from '../jobs/task-definition.ts';
import { ControlSignal } from './control.ts';

/** What a handler's context stands on: in the same thread, or by messages from an isolated one. */
export interface AttemptPort {
  readonly signal: AbortSignal;
  /** Asked directly before the handler is called; null: it may be. */
  refusal(): 'cancelled' | 'ended' | null;
  /** Shows progress; throws `lease_lost` when the attempt no longer counts. */
  progress(progress: Progress): void;
  log(level: LogLevel, message: string): void;
  /** The recorded result of a step, or null. */
  recall(step: string): Promise<JsonText | null>;
  /** Records a step's result and answers with the one that stands; throws `lease_lost` when the attempt no longer counts. */
  record(step: string, result: JsonText): Promise<JsonText>;
  /** Completes the job inside the user's transaction. */
  completeIn(tx: unknown, result: JsonText | null): Promise<void>;
}

const stepLengthMax = 200;
const messageLengthMax = 1_000;

/** Makes the context of one attempt. Everything in it can be taken apart (`({ input, progress }) => …`). */
export function createContext(job: ClaimedJob, input: unknown, port: AttemptPort): TaskContext<unknown> {
  return job.slot === null ? new PlainContext(job, input, port) : new SlotAttemptContext(job, input, port);
}

/**
 * What most handlers never look at is made when it is first asked for, by getters that all contexts share: a busy worker makes tens of
 * thousands of contexts a second. A function that is asked for needs no `this`.
 */
abstract class AttemptContext {
  readonly input: unknown;
  readonly attempt: number;
  readonly fence: number;
  readonly lateness: number;
  readonly #job: ClaimedJob;
  readonly #port: AttemptPort;
  #created: Created | null = null;

  constructor(job: ClaimedJob, input: unknown, port: AttemptPort) {
    this.input = input;
    this.attempt = job.attempt;
    this.fence = job.fence;
    this.lateness = Math.max(0, job.claimedAt - job.dueAt);
    this.#job = job;
    this.#port = port;
  }

  get #ensured(): Created {
    this.#created ??= {};
    return this.#created;
  }

  get job(): TaskContext<unknown>['job'] {
    const created = this.#ensured;
    created.job ??= describe(this.#job);
    return created.job;
  }

  get signal(): AbortSignal {
    return this.#port.signal;
  }

  get log(): TaskContext<unknown>['log'] {
    const created = this.#ensured;
    created.log ??= createLog(this.#port);
    return created.log;
  }

  get once(): TaskContext<unknown>['once'] {
    const created = this.#ensured;
    created.once ??= createOnce(this.#port);
    return created.once;
  }

  get progress(): TaskContext<unknown>['progress'] {
    const port = this.#port;
    return async (percent, message, step) => port.progress(checkedProgress(percent, message, step));
  }

  get completeIn(): TaskContext<unknown>['completeIn'] {
    const port = this.#port;
    return async (tx, result) => {
      const text = result === undefined ? null : toJson(result, { what: 'result', maxBytes: resultBytesMax });
      await port.completeIn(tx, text);
    };
  }

  get retryIn(): TaskContext<unknown>['retryIn'] {
    return retryIn;
  }

  get retryAt(): TaskContext<unknown>['retryAt'] {
    return retryAt;
  }

  get snooze(): TaskContext<unknown>['snooze'] {
    return snooze;
  }
}

/** Of a job that no schedule created. */
class PlainContext extends AttemptContext implements TaskContext<unknown> {
  readonly isCatchUp = false;
  readonly slot = null;
  readonly previousSlot = null;
  readonly nextSlot = null;
  readonly covers = null;
}

/** Of a job that a schedule created: the details of its slot are read when they are first asked for. */
class SlotAttemptContext extends AttemptContext implements TaskContext<unknown> {
  readonly #slot: JobSlot | null;
  #read: SlotDetails | null | undefined;

  constructor(job: ClaimedJob, input: unknown, port: AttemptPort) {
    super(job, input, port);
    this.#slot = job.slot;
  }

  get #details(): SlotDetails | null {
    if (this.#read === undefined) this.#read = slotDetails(this.#slot);
    return this.#read;
  }

  get isCatchUp(): boolean {
    return this.#details?.isCatchUp ?? false;
  }

  get slot(): TaskContext<unknown>['slot'] {
    return slotContext(this.#slot, this.#details);
  }

  get previousSlot(): Date | null {
    return dateOrNull(this.#details?.previousSlotAt);
  }

  get nextSlot(): Date | null {
    return dateOrNull(this.#details?.nextSlotAt);
  }

  get covers(): TaskContext<unknown>['covers'] {
    return coversContext(this.#details);
  }
}

/** What a context has made so far. */
interface Created {
  job?: TaskContext<unknown>['job'];
  log?: TaskContext<unknown>['log'];
  once?: TaskContext<unknown>['once'];
}

function retryIn(delay: Duration, reason?: string): never {
  const due = { inMs: parseDuration(delay, 'retryIn') };
  throw new ControlSignal('retryIn', { kind: 'retry', due, reason: reason ?? null });
}

function retryAt(at: Date | number | string, reason?: string): never {
  const due = { at: parseInstant(at, 'retryAt') };
  throw new ControlSignal('retryAt', { kind: 'retry', due, reason: reason ?? null });
}

function snooze(delay: Duration): never {
  throw new ControlSignal('snooze', { kind: 'snooze', due: { inMs: parseDuration(delay, 'snooze') } });
}

function describe(job: ClaimedJob): TaskContext<unknown>['job'] {
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    tenant: job.tenant,
    priority: job.priority,
    metadata: job.metadata === null ? {} : (fromJson(job.metadata, 'metadata') as Record<string, unknown>),
    createdAt: new Date(job.createdAt),
    dueAt: new Date(job.dueAt),
    origin: job.origin,
  };
}

function createLog(port: AttemptPort): TaskContext<unknown>['log'] {
  const info = (message: string): void => port.log('info', message);
  return Object.assign(info, {
    debug: (message: string) => port.log('debug', message),
    info,
    warn: (message: string) => port.log('warn', message),
    error: (message: string) => port.log('error', message),
  });
}

function createOnce(port: AttemptPort): TaskContext<unknown>['once'] {
  // Two calls of one step in the same attempt are one: the second waits for the first.
  const running = new Map<string, Promise<unknown>>();

  async function runStep(step: string, fn: () => unknown): Promise<unknown> {
    const recorded = await port.recall(step);
    if (recorded !== null) return fromJson(recorded, 'result');
    const result = toJson(await fn(), { what: 'result', maxBytes: resultBytesMax });
    // Given back as it was recorded, so that the first run and a later one see the same value.
    return fromJson(await port.record(step, result), 'result');
  }

  return async <Value>(step: string, fn: () => Value | Promise<Value>): Promise<Value> => {
    if (typeof step !== 'string' || step === '' || step.length > stepLengthMax) {
      throw dulyError('invalid_option', {
        message: `Expected the name of a step given to once() to be a text of 1 to ${stepLengthMax} characters.`,
        hint: 'Name the step, like once("charge-card", () => …).',
      });
    }
    let result = running.get(step);
    if (result === undefined) {
      result = runStep(step, fn);
      running.set(step, result);
      // A step that failed may be tried again in the same attempt.
      result.catch(() => running.delete(step));
    }
    return result as Promise<Value>;
  };
}

/** Progress as it is kept: within its bounds. Throws `invalid_option` for what is no number. */
export function checkedProgress(
  percent: number,
  message: string | undefined,
  step: { step?: number; of?: number } | undefined,
): Progress {
  if (typeof percent !== 'number' || Number.isNaN(percent)) {
    throw dulyError('invalid_option', {
      message: `Expected progress() to be given a number from 0 to 100, got ${typeof percent === 'number' ? 'NaN' : `a value of type ${typeof percent}`}.`,
      hint: 'Check what the percentage is computed from; a division by zero gives NaN.',
    });
  }
  return {
    percent: Math.min(100, Math.max(0, percent)),
    message: message === undefined || message === null ? null : String(message).slice(0, messageLengthMax),
    step: countOrNull(step?.step),
    of: countOrNull(step?.of),
  };
}

function countOrNull(value: number | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.floor(value) : null;
}

function slotDetails(slot: JobSlot | null): SlotDetails | null {
  if (slot === null || slot.details === null) return null;
  return fromJson(slot.details, 'slot') as SlotDetails;
}

function slotContext(slot: JobSlot | null, details: SlotDetails | null): TaskContext<unknown>['slot'] {
  if (slot === null || slot.slotAt === null || details === null) return null;
  return {
    at: new Date(slot.slotAt),
    date: details.date,
    timezone: details.timezone,
    schedule: slot.scheduleName,
    fireId: slot.fireId,
  };
}

function coversContext(details: SlotDetails | null): TaskContext<unknown>['covers'] {
  if (!details?.covers) return null;
  const { fromAt, toAt, count } = details.covers;
  return { from: new Date(fromAt), to: new Date(toAt), count };
}

function dateOrNull(at: number | null | undefined): Date | null {
  return at === null || at === undefined ? null : new Date(at);
}
