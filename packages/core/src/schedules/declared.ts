/** The schedules that an app declares, compared with the stored ones and applied. */

import type { Engine, ScheduleRecord } from '../contract/engine.ts';
import { nodeSilentMs } from '../contract/timings.ts';
import { type DeclaredStep, planDeclared } from './definition/declared.ts';
import type { ScheduleDraft } from './definition/definition.ts';
import { scheduleIdOf } from './definition/identity.ts';
import type { ParsedSchedule, ParsedSchedules } from './definition/schedule-cache.ts';
import type { ScheduleSpec } from './definition/spec.ts';
import { planEnable, planPause } from './planner/plan-operations.ts';
import type { Loaded } from './schedule-loader.ts';
import type { ScheduleDiff } from './schedule-options.ts';
import type { SchedulesDeps } from './schedules-deps.ts';
import { isSame, type ScheduleWrites, type Wanted, wantEdit } from './writes.ts';

type ReadSchedule = ParsedSchedule & { record: ScheduleRecord };

const pageSize = 500;
const applyCountMax = 20;

/** Compares and applies. */
export class DeclaredSchedules {
  readonly #deps: SchedulesDeps;
  readonly #parsed: ParsedSchedules;
  readonly #writes: ScheduleWrites;

  /** Made by `Schedules`. */
  constructor(deps: SchedulesDeps, parsed: ParsedSchedules, writes: ScheduleWrites) {
    this.#deps = deps;
    this.#parsed = parsed;
    this.#writes = writes;
  }

  /** What `apply` would do. */
  async diff(drafts: ScheduleDraft[], prune: boolean): Promise<ScheduleDiff[]> {
    return (await this.#steps(drafts, prune)).map(toDiff);
  }

  /** Changes the stored schedules of the app to what is declared. */
  async apply(drafts: ScheduleDraft[], prune: boolean): Promise<ScheduleDiff[]> {
    const done = new Map<string, ScheduleDiff>();
    for (let tried = 0; tried < applyCountMax; tried++) {
      const steps = await this.#steps(drafts, prune);
      let isDone = true;
      for (const step of steps) {
        const changed = await this.#apply(step);
        // Several processes start at the same moment: whoever comes second looks again and finds it done.
        if (changed === 'conflict') isDone = false;
        else if (changed === 'changed' || !done.has(step.id)) done.set(step.id, toDiff(step));
        // A node that declares it may have come up while it was disabled: what the others declare is looked at once more.
        if (changed === 'changed' && step.step === 'disable') isDone = false;
      }
      if (isDone) break;
    }
    return [...done.values()];
  }

  async #steps(drafts: ScheduleDraft[], prune: boolean): Promise<DeclaredStep[]> {
    const { app, release, node } = this.#deps;
    const engine = await this.#deps.engine();
    const records: ScheduleRecord[] = [];
    let cursor: string | null = null;
    let now = 0;
    do {
      const page: Awaited<ReturnType<Engine['schedules']>> = await engine.schedules({
        filter: { app },
        cursor,
        limit: pageSize,
      });
      records.push(...page.schedules);
      cursor = page.nextCursor;
      now = page.now;
    } while (cursor !== null);
    const { nodes } = await engine.nodes({
      heartbeat: null,
      leave: null,
      drain: null,
      forgetAfterMs: nodeSilentMs,
    });
    const others = nodes.filter((one) => one.app === app && one.id !== node);
    const { stored, unreadable } = readStored(records, {
      parsed: this.#parsed,
      onError: this.#deps.onError,
    });
    return planDeclared({
      release,
      declared: drafts.filter((draft) => !unreadable.has(scheduleIdOf(draft))),
      stored,
      elsewhere: others,
      prune,
      now,
    });
  }

  async #apply(step: DeclaredStep): Promise<'changed' | 'unchanged' | 'conflict'> {
    const { actor, app } = this.#deps;
    const { id, name, tenant, note } = step;
    switch (step.step) {
      case 'none':
      case 'keep':
        return 'unchanged';
      case 'add':
        return (await this.#writes.create({ app, tenant, name }, step.spec)) ? 'changed' : 'conflict';
      case 'remove':
        return (await this.#writes.remove(id, note, (spec) => isSame(spec, step.from)))
          ? 'changed'
          : 'conflict';
      case 'edit': {
        const isDone = await this.#replace(step, (loaded) =>
          isSame(step.from, step.spec) ? null : wantEdit(loaded, step.spec, { note }),
        );
        if (isDone && step.enables) await this.#enable(id);
        return isDone ? 'changed' : 'conflict';
      }
      case 'disable': {
        const isDone = await this.#replace(step, ({ input, parsed }) => {
          if (parsed.state.pause?.cause === 'disabled') return null;
          const plan = planPause(input, { note, untilAt: null, by: actor(), cause: 'disabled' });
          return { action: 'disable', plan, spec: step.spec, note, result: 'edited' };
        });
        return isDone ? 'changed' : 'conflict';
      }
      case 'release':
      case 'drift': {
        const isDone = await this.#replace(step, (loaded) =>
          wantEdit(loaded, step.spec, { action: step.step, note }),
        );
        return isDone ? 'changed' : 'conflict';
      }
    }
  }

  /**
   * Writes a step; false: what is stored is no longer what was compared, so that another step may be right. A release that started a
   * moment later than an older one is not overruled by what the older one has read before.
   */
  async #replace(
    { id, from }: { id: string; from: ScheduleSpec },
    want: (loaded: Loaded) => Wanted<'edited'> | null,
  ): Promise<boolean> {
    let isAsCompared = false;
    await this.#writes.change(id, (loaded) => {
      isAsCompared = isSame(loaded.parsed.spec, from);
      return isAsCompared ? want(loaded) : null;
    });
    return isAsCompared;
  }

  async #enable(id: string): Promise<void> {
    await this.#writes.change(id, ({ input, parsed }) =>
      parsed.state.pause?.cause === 'disabled'
        ? { action: 'enable', plan: planEnable(input), result: null }
        : null,
    );
  }
}

/** A schedule that cannot be read here (a newer release wrote it, its library is missing) is left alone, and must not keep a node from starting. */
export function readStored(
  records: readonly ScheduleRecord[],
  { parsed, onError }: { parsed: ParsedSchedules; onError: SchedulesDeps['onError'] },
): { stored: ReadSchedule[]; unreadable: Set<string> } {
  const stored: ReadSchedule[] = [];
  const unreadable = new Set<string>();
  for (const record of records) {
    try {
      stored.push({ record, ...parsed.parse(record) });
    } catch (error) {
      unreadable.add(record.id);
      onError(error, `reading schedule "${record.name}"`);
    }
  }
  return { stored, unreadable };
}

function toDiff(step: DeclaredStep): ScheduleDiff {
  const { id, name, tenant, fields, note } = step;
  const enables = step.step === 'edit' && step.enables;
  // That another release says the same is noted, and no difference.
  const action = enables ? 'enable' : step.step === 'release' ? 'none' : step.step;
  return { id, name, tenant, action, fields, note };
}
