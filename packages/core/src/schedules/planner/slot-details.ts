import type { Engine, FireGroup } from '../../contract/engine.ts';
import type { SlotDetails } from '../../contract/schedules.ts';
import type { Plan } from './plan-types.ts';

/**
 * The new details of waiting runs that learn what was merged into them. One that is gone is named all the same: the store then refuses what
 * was decided for it.
 */
export async function slotDetailsOf(
  engine: Pick<Engine, 'get'>,
  mergedInto: Plan['mergedInto'],
): Promise<NonNullable<FireGroup['slotDetails']>> {
  if (mergedInto.length === 0) return [];
  const { jobs } = await engine.get({ ids: mergedInto.map(({ id }) => id) });
  return mergedInto.map(({ id, covers }, i) => {
    const details = jobs[i]?.slot?.details ?? '{}';
    if (covers === null) return { id, details };
    const updated: SlotDetails = { ...(JSON.parse(details) as SlotDetails), covers };
    return { id, details: JSON.stringify(updated) };
  });
}
