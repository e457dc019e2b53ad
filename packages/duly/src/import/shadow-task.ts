import { builtInPrefix, type Duly } from '@duly/core';

/** The task of schedules that only record what they would have done, beside the cron that still does it. */
export const shadowTaskName = `${builtInPrefix}shadow`;

/** Defines it. It runs nothing, whatever its input says, so every node may have it. */
export function defineShadowTask(duly: Duly): void {
  if (duly.tasks.has(shadowTaskName)) return;
  duly.task({ name: shadowTaskName, run: () => ({ shadow: true }) });
}
