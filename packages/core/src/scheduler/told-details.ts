import type { Engine, FireGroup } from '../engine.ts';
import type { Plan } from '../schedule/plan-types.ts';
import type { SlotDetails } from '../worker/context.ts';

/** The new details of waiting runs that learn what was merged into them. Reads the runs; those that are gone are left out. */
export async function toldDetails(
  engine: Pick<Engine, 'get'>,
  tell: Plan['tell'],
): Promise<NonNullable<FireGroup['tell']>> {
  if (tell.length === 0) return [];
  const { jobs } = await engine.get({ ids: tell.map(({ id }) => id) });
  return tell.flatMap(({ id, covers }, i) => {
    const details = jobs[i]?.slot?.details;
    if (details === null || details === undefined) return [];
    const told: SlotDetails = { ...(JSON.parse(details) as SlotDetails), covers };
    return [{ id, details: JSON.stringify(told) }];
  });
}
