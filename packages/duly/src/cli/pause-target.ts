import type { Duly, Pause, PauseTarget } from '@duly/core';
import { oneLine } from '../output/terminal.ts';
import type { CommandContext } from './context.ts';
import { didYouMean } from './usage.ts';

/** What can be paused. */
export type PauseScope = Pause['scope'];

/** The target that a scope and a name mean. */
export function targetOf(scope: PauseScope, name: string | undefined): PauseTarget {
  if (scope === 'queue') return { queue: name ?? '' };
  return scope === 'type' ? { type: name ?? '' } : { all: true };
}

/** `Queue "mail"`, `Type "mail"`, `Everything`. */
export function pauseText({ scope, name }: Pick<Pause, 'scope' | 'name'>): string {
  if (scope === 'all') return 'Everything';
  return `${scope === 'queue' ? 'Queue' : 'Type'} "${oneLine(name ?? '')}"`;
}

// Newest first: a queue that nothing was put into for so many jobs is not what somebody is about to pause.
const recentJobCount = 500;

/**
 * Says so when nobody is known to use what was paused and something of a similar name is there: likely a slip of the pen. A queue that is not known yet may be paused
 * before its first job comes, so without a similar name nothing is said of it.
 */
export async function warnUnknown(
  context: CommandContext,
  duly: Duly,
  scope: PauseScope,
  name: string | undefined,
): Promise<void> {
  if (scope === 'all' || name === undefined) return;
  const nodes = await duly.nodes();
  if (scope === 'type') {
    const types = new Set(nodes.flatMap((node) => node.tasks.map((task) => task.type)));
    if (types.size > 0 && !types.has(name))
      context.warn(`No live node handles the type "${name}".${didYouMean(name, types)}`);
    return;
  }
  const queues = new Set(['default', ...nodes.flatMap((node) => node.queues ?? [])]);
  if (queues.has(name)) return;
  const [{ jobs }, { schedules }] = await Promise.all([
    duly.jobs({}).page({ limit: recentJobCount }),
    duly.schedules.list({ limit: recentJobCount }),
  ]);
  for (const { queue } of [...jobs, ...schedules]) queues.add(queue);
  if ((await duly.jobs({ queue: [name] }).first()) !== null) return;
  const near = queues.has(name) ? '' : didYouMean(name, queues);
  if (near !== '') context.warn(`No job, schedule or live node names a queue "${name}".${near}`);
}
