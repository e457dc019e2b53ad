/**
 * Predicts every decision about every slot from the rule, the policies, what people did and what ran, and compares. Shares nothing with
 * the planner: the decisions are those of its slow model, slots are counted anew, and what ran is read off the history.
 */
import type { ScheduleSpec } from '../../packages/core/src/schedule/schedule-spec.ts';
import { type ModelStep, PlanModel } from '../../packages/core/test/schedule/plan-model.ts';
import type { Applied, Evidence, Fired, HistoryEvent } from '../history.ts';
import { countedRule } from './rule.ts';
import { Runs } from './runs.ts';

/** The lease of a schedule that is being decided, by SEMANTICS §3. */
const scheduleLeaseMs = 3_000;
const budget = 1_000;

/** One accepted write of a schedule, as it was and as it should have been. */
export interface PredictedWrite {
  scheduleId: string;
  event: Fired | Applied;
  /** The instant by which the write was planned. */
  plannedAt: number;
  /** When the schedule was to be looked at, by the write before; null: not by time. */
  dueAt: number | null;
  /** What differs; null: nothing. */
  difference: string | null;
}

/** A schedule at the end, by the model: all that it may be. */
export interface PredictedEnd {
  scheduleId: string;
  maybe: {
    /** When the next slot must be decided; null: never, as far as the model can tell. */
    dueAt: number | null;
    /** A run whose end must make it due. */
    waitsFor: string | null;
    isPaused: boolean;
    /** When it was last written. */
    writtenAt: number;
  }[];
}

/** What the model makes of a history. */
export interface Prediction {
  writes: PredictedWrite[];
  ends: PredictedEnd[];
}

interface Life {
  model: PlanModel;
  spec: ScheduleSpec;
  anchorAt: number;
  dueAt: number | null;
  waitsFor: string | null;
  writtenAt: number;
  /** Grows by one with every write. */
  version: number;
  /** Paused by a declaration that is gone. */
  isDisabled: boolean;
}

/** Replays the writes of every schedule through the model. */
export function predict(evidence: Evidence): Prediction {
  const runs = new Runs(evidence);
  /** All that a schedule may be: readers of the same millisecond may have seen different things, and what they saw may show later. */
  const lives = new Map<string, Life[]>();
  const writes: PredictedWrite[] = [];
  for (const [index, event] of evidence.events.entries()) {
    const isWrite =
      (event.kind === 'fired' && event.result === 'fired') ||
      (event.kind === 'applied' && event.result === 'applied');
    if (!isWrite) continue;
    const { scheduleId } = event;
    const reads = readsBefore(evidence.events, index, event);
    const instants = reads.map((read) => evidence.events[read]?.at ?? event.at);
    const plannedAt = instants[0] ?? event.at;
    const differs = (dueAt: number | null, difference: string): void => {
      writes.push({ scheduleId, event, plannedAt, dueAt, difference });
      lives.delete(scheduleId);
    };
    if (event.kind === 'applied' && event.action === 'create') {
      const born = instants.map((readAt) => createLife(event, readAt));
      const alike = born.filter((life) => life !== null && life.dueAt === event.dueAt) as Life[];
      lives.set(scheduleId, alike);
      // A rule that the model does not know is not predicted.
      if (alike.length > 0 || born.includes(null)) continue;
      differs(null, `is due first at ${at(event.dueAt)}, predicted ${at(born[0]?.dueAt ?? null)}`);
      continue;
    }
    const before = lives.get(scheduleId) ?? [];
    const [first] = before;
    const isDeletion = event.kind === 'applied' && event.spec === null;
    if (first === undefined) {
      lives.delete(scheduleId);
      continue;
    }
    const version = event.kind === 'fired' ? event.version : event.expectVersion;
    if (version !== first.version) {
      differs(first.dueAt, `was written over version ${version}, and it was at version ${first.version}`);
      continue;
    }
    const { after, difference } = replayAll(before, event, runs, { reads, instants, index });
    if (after === 'unknown') lives.delete(scheduleId);
    else if (after.length === 0) differs(first.dueAt, difference);
    else {
      if (isDeletion) lives.delete(scheduleId);
      else lives.set(scheduleId, after);
      // What an edit leaves due already could not be looked at before the edit.
      const dueAt = first.dueAt === null ? null : Math.max(first.dueAt, first.writtenAt);
      writes.push({ scheduleId, event, plannedAt, dueAt, difference: null });
    }
  }
  const ends = [...lives].map(([scheduleId, all]) => ({
    scheduleId,
    maybe: all.map(({ dueAt, waitsFor, model, writtenAt }) => ({
      dueAt,
      waitsFor,
      isPaused: model.pausedAt !== null,
      writtenAt,
    })),
  }));
  return { writes, ends };
}

/** Plays one write from all that its schedule may be, by all that its writer may have read. */
function replayAll(
  before: readonly Life[],
  event: Fired | Applied,
  runs: Runs,
  { reads, instants, index }: { reads: number[]; instants: number[]; index: number },
): { after: Life[] | 'unknown'; difference: string } {
  const after = new Map<string, Life>();
  let difference = 'was written without having been read';
  for (const life of before) {
    for (const [i, readIndex] of reads.entries()) {
      const plannedAt = instants[i] as number;
      for (const result of replay(life, event, runs, { readIndex, index, plannedAt })) {
        // A case that the model does not know: nothing more is predicted for this generation.
        if (result === 'unknown') return { after: 'unknown', difference };
        if (typeof result === 'string') difference = result;
        else after.set(stateOf(result), result);
      }
    }
  }
  return { after: [...after.values()], difference };
}

/** What tells two lives apart. */
function stateOf({ model, ...life }: Life): string {
  const { rule: _rule, told: _told, step: _step, ...fields } = model;
  return JSON.stringify([life, fields], (_key, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
}

/** Where the writer may have read what its plan stands on, the newest first. */
function readsBefore(events: readonly HistoryEvent[], index: number, event: Fired | Applied): number[] {
  const found: number[] = [];
  for (let i = index - 1; i >= 0; i--) {
    const one = events[i] as HistoryEvent;
    if (!('scheduleId' in one) || one.scheduleId !== event.scheduleId) continue;
    // What was read before the last write has another version.
    if (one.kind === 'applied' && one.result === 'applied') break;
    if (one.node !== event.node) continue;
    if (event.kind === 'fired') {
      if (one.kind === 'scheduleClaimed' && one.fence === event.fence) return [i];
    } else if (one.kind === 'scheduleRead' && one.version === event.expectVersion) found.push(i);
  }
  return found;
}

function createLife(event: Applied, plannedAt: number): Life | null {
  const spec = JSON.parse(event.spec as string) as ScheduleSpec;
  const rule = countedRule(spec.rule, spec.policies.startAt, plannedAt);
  if (rule === null) return null;
  const model = new PlanModel(event.scheduleId, rule, spec.policies, plannedAt);
  const { dueAt, waitsFor } = model.create(plannedAt);
  return {
    model,
    spec,
    anchorAt: plannedAt,
    dueAt,
    waitsFor,
    writtenAt: event.at,
    version: event.version ?? 1,
    isDisabled: false,
  };
}

/** Plays one write; the reader may have looked at any moment of a span, so each of them may explain it. Answers lives, or what differs. */
function* replay(
  life: Life,
  event: Fired | Applied,
  runs: Runs,
  span: { readIndex: number; index: number; plannedAt: number },
): Generator<Life | string> {
  const { readIndex, index, plannedAt } = span;
  const { scheduleId } = event;
  const points = event.kind === 'fired' ? [readIndex] : runs.pointsBetween(scheduleId, readIndex, index - 1);
  const lateness =
    runs.isAmbiguous(scheduleId, plannedAt) || event.kind === 'applied' ? [true, false] : [true];
  for (const isLate of lateness) {
    for (const activePoint of points) {
      for (const waitedPoint of points) {
        const seen = runs.seenAt(scheduleId, activePoint, plannedAt, isLate);
        const ended = runs.seenAt(scheduleId, waitedPoint, plannedAt, isLate);
        const copy = copyLife(life);
        const ids = event.jobs.map(({ id }) => id);
        let used = 0;
        const step = play(copy, event, {
          now: plannedAt,
          active: seen.active,
          activeCount: seen.active.length,
          waited: copy.waitsFor === null ? null : ended.endOf(copy.waitsFor),
          limits: { leaseMs: scheduleLeaseMs, catchUpBudget: budget },
          newJobId: () => ids[used++] ?? `unmade-${used}`,
        });
        if (step === 'unknown') {
          yield 'unknown';
          return;
        }
        const difference = compare(life.model, event, step);
        if (difference !== null) yield difference;
        else {
          const { dueAt, waitsFor } = step;
          yield { ...copy, dueAt, waitsFor, writtenAt: event.at, version: life.version + 1 };
        }
      }
    }
  }
}

function play(
  life: Life,
  event: Fired | Applied,
  told: Parameters<PlanModel['pass']>[0],
): ModelStep | 'unknown' {
  const { model } = life;
  if (event.kind === 'fired') return model.pass(told);
  switch (event.action) {
    case 'pause':
      if (life.isDisabled) return 'unknown';
      return model.pause(told, event.pauseUntilAt);
    case 'resume':
      return model.resume(told);
    case 'skip-next':
      return model.skipNext(told);
    case 'trigger':
      return model.trigger(told, event.jobs[0]?.slot?.allow === true);
    case 'backfill':
      return backfill(model, event, told);
    case 'disable':
      // A pause that it goes back to is not the model's to know.
      if (model.pausedAt !== null) return 'unknown';
      life.isDisabled = true;
      life.spec = JSON.parse(event.spec as string) as ScheduleSpec;
      return model.pause(told, null);
    case 'enable':
      life.isDisabled = false;
      return model.resume(told);
    case 'delete':
      return model.delete(told);
    case 'decide':
      // The part of an edit that comes before the new rule.
      return model.edit(told, { rule: model.rule, policies: model.policies, isSameRule: false }).step;
    case 'edit':
    case 'revert':
    case 'release':
    case 'drift':
      return edit(life, event, told);
    default:
      return 'unknown';
  }
}

function edit(life: Life, event: Applied, told: Parameters<PlanModel['pass']>[0]): ModelStep | 'unknown' {
  const { model } = life;
  const next = JSON.parse(event.spec as string) as ScheduleSpec;
  const before = life.spec;
  life.spec = next;
  const decisive = ({ rule, policies }: ScheduleSpec): string =>
    JSON.stringify([sorted(rule), sorted(policies)]);
  if (decisive(before) === decisive(next)) {
    // Nothing that decides was changed, so nothing is decided.
    model.begin(told);
    // The end of the run that it waited for has made it due already, and nobody has looked yet.
    const wokenAt = told.waited?.finishedAt ?? Number.POSITIVE_INFINITY;
    const dueAt = Math.min(life.dueAt ?? Number.POSITIVE_INFINITY, wokenAt);
    return { ...model.step, dueAt: Number.isFinite(dueAt) ? dueAt : null, waitsFor: life.waitsFor };
  }
  const isSameRule = slotsOf(before) === slotsOf(next);
  const anchorAt = isSameRule ? life.anchorAt : told.now;
  const rule = countedRule(next.rule, next.policies.startAt, anchorAt);
  if (rule === null) return 'unknown';
  const { step, applied } = model.edit(told, { rule, policies: next.policies, isSameRule });
  life.anchorAt = anchorAt;
  return applied ? step : 'unknown';
}

/** What names the slots: the rule without what only decides about them. */
function slotsOf({ rule, policies }: ScheduleSpec): string {
  const { exclude: _exclude, ...rest } = rule as Record<string, unknown>;
  // A rate and a delay are real time, whatever the clock shows.
  if ('rate' in rest || 'delay' in rest) for (const field of ['timezone', 'dst']) delete rest[field];
  return JSON.stringify([sorted(rest), 'cron' in rest ? null : policies.startAt]);
}

function sorted(value: object): [string, unknown][] {
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

/** A backfill decides nothing; its runs count for overlap from now on. */
function backfill(model: PlanModel, event: Applied, told: Parameters<PlanModel['pass']>[0]): ModelStep {
  model.begin(told);
  model.hearOutcome();
  for (const job of event.jobs) {
    model.make({
      slotAt: job.slot?.slotAt ?? null,
      dueAt: told.now,
      origin: 'backfill',
      gates: ['another'],
      cancel: [],
      isCatchUp: true,
      allow: job.slot?.allow === true,
      previousSlotAt: null,
      nextSlotAt: null,
      covered: [],
    });
  }
  return model.end();
}

/** What differs. `model` is as it was before: the slots that were decided are those that it had then. */
function compare(model: PlanModel, event: Fired | Applied, step: ModelStep): string | null {
  const { rule } = model;
  const recorded = event.slots.flatMap(({ fromAt, toAt, decision, reason, jobId }) => {
    if (rule.kind === 'delay' || fromAt === toAt) return [line(fromAt, decision, reason, jobId)];
    const slots: string[] = [];
    for (const slot of model.slots(rule, fromAt - 1, toAt)) {
      // A long row of missed slots may hold excluded ones; the rule says which.
      const isOut = decision === 'missed' && rule.isExcluded(slot);
      slots.push(isOut ? line(slot, 'excluded', 'exclude', null) : line(slot, decision, reason, jobId));
    }
    return slots;
  });
  const predicted = step.slots.map(({ slotAt, decision, reason, runId }) =>
    line(slotAt, decision, reason, runId),
  );
  if (recorded.join('\n') !== predicted.join('\n')) {
    return `decided [${few(recorded)}], predicted [${few(predicted)}]`;
  }
  const made = event.jobs
    .map(({ id, slot, origin }) => `${origin} ${at(slot?.slotAt ?? null)} ${id}`)
    .join('; ');
  const wanted = step.runs.map(({ id, slotAt, origin }) => `${origin} ${at(slotAt)} ${id}`).join('; ');
  if (made !== wanted) return `made [${made}], predicted [${wanted}]`;
  if (event.dueAt !== step.dueAt) return `is due again at ${at(event.dueAt)}, predicted ${at(step.dueAt)}`;
  return null;
}

/** The ends of a list that may be long. */
function few(lines: string[]): string {
  if (lines.length <= 8) return lines.join('; ');
  return [...lines.slice(0, 4), `… ${lines.length - 8} more …`, ...lines.slice(-4)].join('; ');
}

function line(slotAt: number, decision: string, reason: string | null, jobId: string | null): string {
  return `${at(slotAt)} ${decision}${reason === null ? '' : `: ${reason}`}${jobId === null ? '' : ` → ${jobId}`}`;
}

function at(instant: number | null): string {
  return instant === null ? 'never' : new Date(instant).toISOString().slice(11, 23);
}

function copyLife(life: Life): Life {
  const { rule, told: _told, ...fields } = life.model;
  const model: PlanModel = Object.assign(
    Object.create(PlanModel.prototype) as PlanModel,
    structuredClone(fields),
  );
  model.rule = rule;
  return { ...life, model };
}
