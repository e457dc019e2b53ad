import { formatInstant } from '../../base/instant.ts';

/** The text form of (schedule, generation, slot); runs of one slot share it. A trigger has no slot and is named by its job. */
export function fireIdOf(fire: {
  scheduleId: string;
  generation: number;
  slotAt: number | null;
  runId: string;
}): string {
  const slot = fire.slotAt === null ? `trigger/${fire.runId}` : formatInstant(fire.slotAt);
  return `${fire.scheduleId}/${fire.generation}/${slot}`;
}

/** The generation that a fire id names; null: it is none of ours. */
export function generationOf(fireId: string): number | null {
  const generation = Number(fireId.split('/')[1]);
  return Number.isSafeInteger(generation) ? generation : null;
}
