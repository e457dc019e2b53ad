/** The values of `missed`, `onResume` and `onEdit`. */
export const catchUpModes = ['skip', 'latest', 'all'] as const;
/** What becomes of slots that were not decided when they came. */
export type CatchUpMode = (typeof catchUpModes)[number];

/** The values of `overlap`. */
export const overlapModes = [
  'skip',
  'allow',
  'bufferOne',
  'bufferAll',
  'cancelOther',
  'terminateOther',
] as const;
/** What becomes of a slot while an earlier run is not finished. */
export type OverlapMode = (typeof overlapModes)[number];

/** The values of `jitterMode`. */
export const jitterModes = ['perSchedule', 'perFire'] as const;
/** Whether jitter is the same for every slot of a schedule, or drawn for each. */
export type JitterMode = (typeof jitterModes)[number];
