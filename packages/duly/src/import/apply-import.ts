import type { Duly, Schedule, ScheduleDefinition } from '@duly/core';
import { shadowTaskName } from '@duly/core/internal';

/** How imported schedules begin. */
export type ImportMode = 'paused' | 'shadow' | 'live';

/** What became of one of them. */
export interface Imported {
  schedule: Schedule;
  result: 'created' | 'edited' | 'unchanged';
}

/** The note of a pause that an import created, and that an import may end. */
export const importPauseNote = 'imported paused';

/**
 * Stores a schedule. A new one that begins paused is stored as a shadow first, which runs nothing: between storing and pausing a slot may come. `live` and `shadow` end the pause of an import, and no
 * other.
 */
export async function importSchedule(
  duly: Duly,
  definition: ScheduleDefinition & { name: string },
  mode: ImportMode,
): Promise<Imported> {
  const tenant = definition.tenant ?? null;
  const before = (await duly.schedules.list({ name: definition.name, tenant })).schedules.find(
    ({ app }) => app === null,
  );
  const shadow = { ...definition, type: shadowTaskName };
  let heldId: string | null = null;
  if (mode === 'paused' && before === undefined) {
    heldId = (await duly.schedules.put(shadow)).id;
    await duly.schedules.pause({ id: heldId }, { note: importPauseNote });
  }
  let schedule: Schedule;
  try {
    schedule = await duly.schedules.put(mode === 'shadow' ? shadow : definition);
  } catch (error) {
    // What only held its place is not left behind.
    if (heldId !== null) await duly.schedules.delete({ id: heldId });
    throw error;
  }
  if (mode === 'paused' && schedule.paused === null) {
    schedule = await duly.schedules.pause({ id: schedule.id }, { note: importPauseNote });
  } else if (mode !== 'paused' && schedule.paused?.note === importPauseNote) {
    schedule = await duly.schedules.resume({ id: schedule.id });
  }
  const isSame = before !== undefined && before.updatedAt.getTime() === schedule.updatedAt.getTime();
  return { schedule, result: before === undefined ? 'created' : isSame ? 'unchanged' : 'edited' };
}
