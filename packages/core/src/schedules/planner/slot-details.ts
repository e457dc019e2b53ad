import type { Engine, FireGroup } from '../../contract/engine.ts';
import type { SlotDetails } from '../../contract/schedules.ts';
import type { Plan } from './plan-types.ts';

/**
 * The new details of waiting runs that learn what was merged into them. One that is gone is named all the same: the store then refuses what
 * was decided for it.
 */
export async function toldDetails(
  engine: Pick<Engine, 'get'>,
  tell: Plan['tell'],
): Promise<NonNullable<FireGroup['tell']>> {
  if (tell.length === 0) return [];
  const { jobs } = await engine.get({ ids: tell.map(({ id }) => id) });
  return tell.map(({ id, covers }, i) => {
    const details = jobs[i]?.slot?.details ?? '{}';
    if (covers === null) return { id, details };
    const told: SlotDetails = { ...(JSON.parse(details) as SlotDetails), covers };
    return { id, details: JSON.stringify(told) };
  });
}
