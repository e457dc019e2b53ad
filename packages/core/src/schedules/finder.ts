/** Which schedule a reference means, and which of its slots an instant. */
import { nearest } from '../base/nearest.ts';
import { readName, refuseOption } from '../base/option-reader.ts';
import type { Engine, ScheduleRecord } from '../contract/engine.ts';
import { readMoment, readWallMoment } from './calendar/moment.ts';
import { scheduleIdOf } from './definition/identity.ts';
import type { ParsedSchedules } from './definition/schedule-cache.ts';
import { type Deleted, type LedgerSchedule, readDeleted } from './history.ts';
import { ambiguous, missingSchedule, wasDeleted } from './schedule-errors.ts';
import type { ScheduleReference, SchedulesFilter } from './schedule-options.ts';
import type { ReadSchedule } from './schedule-reader.ts';
import type { MissingTime } from './slot-why-facts.ts';
import { readSchedule } from './unreadable.ts';

const pageSize = 500;

/** Finds schedules by what users call them. */
export class ScheduleFinder {
  readonly #deps: { engine(): Promise<Engine>; read: ReadSchedule; app: string };
  readonly #parsed: ParsedSchedules;

  /** Made by `Schedules`. */
  constructor(deps: { engine(): Promise<Engine>; read: ReadSchedule; app: string }, parsed: ParsedSchedules) {
    this.#deps = deps;
    this.#parsed = parsed;
  }

  /** The schedule that is meant, also one that was deleted. Throws `schedule_not_found` or `schedule_ambiguous`. */
  async findWithLedger(reference: ScheduleReference): Promise<LedgerSchedule> {
    const found = await this.#look(reference);
    if (found !== null) return { ...found, parsed: readSchedule(this.#parsed, found.record) };
    const [gone, ...others] = await this.#deleted(reference);
    if (gone === undefined) throw await this.#missing(reference);
    if (others.length > 0) {
      throw ambiguous(
        textOf(reference),
        [gone, ...others].map(({ record }) => record),
      );
    }
    return gone;
  }

  /** The deleted schedules that may be meant, the one that was deleted last first. */
  async #deleted(reference: ScheduleReference): Promise<Deleted[]> {
    const engine = await this.#deps.engine();
    const ids = idsOf(reference, this.#deps.app);
    const found = await Promise.all(ids.map((id) => readDeleted(engine, id, this.#parsed)));
    return found
      .filter((one) => one !== null)
      .sort((one, other) => other.deleted.at.getTime() - one.deleted.at.getTime());
  }

  /** The schedule that is meant and there. Throws `schedule_not_found`, which tells of one that was deleted, or `schedule_ambiguous`. */
  async find(
    reference: ScheduleReference,
  ): Promise<{ record: ScheduleRecord; now: number; deleted?: undefined }> {
    const found = await this.#look(reference);
    if (found !== null) return found;
    const [gone] = await this.#deleted(reference);
    throw gone === undefined ? await this.#missing(reference) : wasDeleted(gone);
  }

  async #missing(reference: ScheduleReference) {
    return missingSchedule(textOf(reference), await this.#nearestName(reference));
  }

  /** The schedule that is there; null: none is. */
  async #look(reference: ScheduleReference): Promise<{ record: ScheduleRecord; now: number } | null> {
    const meant = readReference(reference);
    if ('id' in meant) return this.#readOne(meant.id);
    const engine = await this.#deps.engine();
    const { schedules, now } = await engine.schedules({ filter: meant, cursor: null, limit: 10 });
    const [record, ...others] = schedules;
    if (others.length > 0) throw ambiguous(textOf(reference), schedules);
    if (record !== undefined) return { record, now };
    const isId = typeof reference === 'string' && reference.startsWith('sch_');
    return isId ? this.#readOne(reference) : null;
  }

  async #readOne(id: string): Promise<{ record: ScheduleRecord; now: number } | null> {
    const { record, now } = await this.#deps.read(id);
    return record === null ? null : { record, now };
  }

  async #nearestName(reference: ScheduleReference): Promise<string | undefined> {
    const engine = await this.#deps.engine();
    const { schedules } = await engine.schedules({ filter: {}, cursor: null, limit: pageSize });
    return nearest(
      textOf(reference),
      schedules.map(({ name }) => name),
    );
  }
}

/** The ids that a reference may have meant. The app of a declared schedule is this process's, unless it is named. */
function idsOf(reference: ScheduleReference, ownApp: string): string[] {
  if (typeof reference === 'object' && 'id' in reference) return [reference.id];
  if (typeof reference === 'string' && reference.startsWith('sch_')) return [reference];
  const named = typeof reference === 'string' ? { name: reference } : reference;
  const { name, tenant = null, app } = named;
  return (app === undefined ? [ownApp, null] : [app]).map((one) => scheduleIdOf({ app: one, tenant, name }));
}

/** The fields by which the store knows schedules, checked. */
export function readStoreFilter({ app, tenant, name }: Pick<SchedulesFilter, 'app' | 'tenant' | 'name'>) {
  return {
    ...(app === undefined ? {} : { app: app === null ? null : readName(app, 'app') }),
    ...(tenant === undefined ? {} : { tenant: tenant === null ? null : readName(tenant, 'tenant') }),
    ...(name === undefined ? {} : { name: readName(name, 'name') }),
  };
}

function readReference(
  reference: ScheduleReference,
): { id: string } | { app?: string | null; tenant?: string | null; name?: string } {
  if (typeof reference === 'string') return { name: readName(reference, 'schedule') };
  const fields = typeof reference === 'object' && reference !== null ? Object.keys(reference) : [];
  if (fields.length === 1 && fields[0] === 'id')
    return { id: readName((reference as { id: string }).id, 'id') };
  if (fields.includes('name') && fields.every((field) => ['name', 'tenant', 'app'].includes(field))) {
    return readStoreFilter(reference as SchedulesFilter);
  }
  return refuseOption('schedule', reference, 'to be a name, { id } or { name, tenant?, app? }');
}

/** A reference in words. */
export function textOf(reference: ScheduleReference): string {
  if (typeof reference === 'string') return reference;
  return 'id' in reference ? reference.id : reference.name;
}

/** The instant that is meant: of a wall time that comes twice the one that is a slot, of one in a gap the instant after it. */
export function readSlot(
  slot: Date | number | string,
  { parsed }: LedgerSchedule,
): { askedAt: number; missing: MissingTime | null } {
  const { rule, planRule } = parsed;
  const moment = typeof slot === 'string' ? readWallMoment(slot, rule.timezone) : null;
  const instants = moment?.instants ?? [];
  const missing = moment === null || instants.length > 0 ? null : { date: moment.date, time: moment.time };
  const meantAt = readMoment(slot, 'slot', rule.timezone);
  if (planRule.kind === 'delay') return { askedAt: meantAt, missing };
  const { all } = planRule;
  // The slots of a rate have the milliseconds of the instant that it counts from, and nobody types those.
  const withinMs = rule.kind === 'rate' && meantAt % 1_000 === 0 ? 1_000 : 1;
  for (const at of instants.length === 0 ? [meantAt] : instants) {
    const slotAt = all.next(at - 1);
    if (slotAt !== null && slotAt < at + withinMs) return { askedAt: slotAt, missing };
  }
  return { askedAt: meantAt, missing };
}

/** Whether a ledger row holds this slot: a row of many slots holds only those that the rule names. */
export function isSlotOf(
  row: { fromAt: number; toAt: number; count?: number | null },
  slotAt: number,
  { parsed }: LedgerSchedule,
): boolean {
  // The end of a row that was not counted may be the instant of a deletion, by a process that could not read the rule.
  if (row.fromAt === slotAt || (row.toAt === slotAt && row.count !== null)) return true;
  const { planRule } = parsed;
  return planRule.kind === 'delay' || planRule.all.next(slotAt - 1) === slotAt;
}
