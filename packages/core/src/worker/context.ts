import { parseDuration } from '../duration.ts';
import type { ClaimedJob, JobSlot, JsonText, Progress } from '../engine.ts';
import { dulyError } from '../errors.ts';
import { parseInstant } from '../instant.ts';
import { fromJson, resultBytesMax, toJson } from '../json.ts';
import type { LogLevel, TaskContext } from '../task.ts';
import { ControlSignal } from './control.ts';

/** What a handler's context stands on: in the same thread, or by messages from an isolated one. */
export interface AttemptPort {
  readonly signal: AbortSignal;
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

/** What the planner tells a handler about its slot, as kept in `JobSlot.details`. */
export interface SlotDetails {
  /** Date of the slot in the schedule's zone. */
  date: string;
  timezone: string;
  isCatchUp: boolean;
  previousSlotAt: number | null;
  nextSlotAt: number | null;
  covers: { fromAt: number; toAt: number; count: number } | null;
}

const stepLengthMax = 200;
const messageLengthMax = 1_000;

/** Makes the context of one attempt. Everything in it can be taken apart (`({ input, progress }) => …`). */
export function createContext(job: ClaimedJob, input: unknown, port: AttemptPort): TaskContext<unknown> {
  let read: SlotDetails | null | undefined;
  const details = (): SlotDetails | null => {
    if (read === undefined) read = slotDetails(job.slot);
    return read;
  };
  let about: TaskContext<unknown>['job'] | undefined;
  let log: TaskContext<unknown>['log'] | undefined;
  let once: TaskContext<unknown>['once'] | undefined;
  return {
    input,
    // What most handlers never look at is made when it is first asked for.
    get job() {
      about ??= describe(job);
      return about;
    },
    attempt: job.attempt,
    fence: job.fence,
    get signal() {
      return port.signal;
    },
    lateness: Math.max(0, job.claimedAt - job.dueAt),
    get isCatchUp() {
      return details()?.isCatchUp ?? false;
    },
    get slot() {
      return slotContext(job.slot, details());
    },
    get previousSlot() {
      return dateOrNull(details()?.previousSlotAt);
    },
    get nextSlot() {
      return dateOrNull(details()?.nextSlotAt);
    },
    get covers() {
      return coversContext(details());
    },
    async progress(percent, message, step) {
      port.progress(checkedProgress(percent, message, step));
    },
    get log() {
      log ??= createLog(port);
      return log;
    },
    get once() {
      once ??= createOnce(port);
      return once;
    },
    async completeIn(tx, result) {
      const text = result === undefined ? null : toJson(result, { what: 'result', maxBytes: resultBytesMax });
      await port.completeIn(tx, text);
    },
    retryIn(delay, reason) {
      const due = { inMs: parseDuration(delay, 'retryIn') };
      throw new ControlSignal('retryIn', { kind: 'retry', due, reason: reason ?? null });
    },
    retryAt(at, reason) {
      const due = { at: parseInstant(at, 'retryAt') };
      throw new ControlSignal('retryAt', { kind: 'retry', due, reason: reason ?? null });
    },
    snooze(delay) {
      throw new ControlSignal('snooze', {
        kind: 'snooze',
        due: { inMs: parseDuration(delay, 'snooze') },
      });
    },
  };
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
