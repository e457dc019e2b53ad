import { builtInTask, type Duly } from '@duly/core';
import { shadowTaskName } from '@duly/core/internal';

/** Defines the task of schedules that only record what they would have done, beside the cron that still does it. It runs nothing, whatever its input says, so every node may have it. */
export function defineShadowTask(duly: Duly): void {
  if (duly.tasks.has(shadowTaskName)) return;
  const shadow = { name: shadowTaskName, run: () => ({ shadow: true }) };
  duly.task(Object.assign(shadow, { [builtInTask]: true }));
}
