import type { Duly, Pause, PauseTarget } from '@duly/core';
import { oneLine } from './output/terminal.ts';
import type { Shell } from './shell.ts';
import { didYouMean } from './usage.ts';

/** What can be paused. */
export type PauseScope = Pause['scope'];

/** The target that a scope and a name mean. */
export function targetOf(scope: PauseScope, name: string | undefined): PauseTarget {
  if (scope === 'queue') return { queue: name ?? '' };
  return scope === 'task' ? { task: name ?? '' } : { all: true };
}

/** `Queue "mail"`, `Task "mail"`, `Everything`. */
export function pauseText({ scope, name }: Pick<Pause, 'scope' | 'name'>): string {
  if (scope === 'all') return 'Everything';
  return `${scope === 'queue' ? 'Queue' : 'Task'} "${oneLine(name ?? '')}"`;
}

/** Says so when no live node handles a task of this name and one of a similar name is there: likely a slip of the pen. */
export async function warnUnknown(
  shell: Shell,
  duly: Duly,
  scope: PauseScope,
  name: string | undefined,
): Promise<void> {
  if (scope !== 'task' || name === undefined) return;
  const types = new Set((await duly.nodes()).flatMap((node) => node.tasks.map((task) => task.type)));
  if (types.size > 0 && !types.has(name)) {
    shell.warn(`No live node handles a task "${name}".${didYouMean(name, types)}`);
  }
}
