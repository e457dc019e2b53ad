// Sends changes of schedules to the store, those that are asked for meanwhile together.

import { dulyError, fromPlainError, isDulyError } from '../base/errors.ts';
import type { AppliedSchedule, ApplySchedulesInput, GroupReply, ScheduleChange } from '../contract/engine.ts';
import { createBatcher, isStoreTrouble } from '../store/batcher.ts';
import type { ScheduleWritesOptions } from './writes.ts';

type ChangeGroup = ApplySchedulesInput['groups'][number];
type ChangeEngine = Awaited<ReturnType<ScheduleWritesOptions['engine']>>;
/** `alone`: it failed together with others, and nothing was done. */
type ChangeAnswer = GroupReply<AppliedSchedule> | { failed: unknown } | 'alone';

// Some 20 ms of one transaction.
const togetherMax = 200;

/** Creates the function that writes one change; it answers false for a conflict. */
export function createChangeSender(
  options: ScheduleWritesOptions,
): (change: ScheduleChange) => Promise<boolean> {
  const { actor, clock, random } = options;
  /** Changes that are requested while one write is in flight travel together in the next: a thousand schedules are not a thousand commits. */
  const together = createBatcher<ChangeGroup, ChangeAnswer>({
    clock,
    random,
    maxItems: togetherMax,
    send: async (groups) => apply(await options.engine(), groups),
  });

  return async (change) => {
    const engine = await options.engine();
    const group = { actor: actor(), changes: [change] };
    // In a store with many writers a change can wait for the lock of another process, and others would wait with it. A new schedule has no lock.
    const isTogether = !isParallel(engine) || isCreation(change);
    const first = isTogether ? await together.push(group) : 'alone';
    // Outside of the batch, so that one that waits for a lock delays no other.
    const answer = first === 'alone' ? (await apply(engine, [group]))[0] : first;
    if (answer === undefined || answer === 'alone')
      throw dulyError('internal', { message: 'The store answered without a group.' });
    if ('failed' in answer) throw answer.failed;
    if (answer.ok) return true;
    if (answer.error.code === 'records_conflict') return false;
    throw fromPlainError(answer.error);
  };
}

/** Never rejects, so that nothing is repeated by itself: a trigger whose outcome is unknown must not be repeated. */
async function apply(engine: ChangeEngine, groups: ChangeGroup[]): Promise<ChangeAnswer[]> {
  const sorted = [...groups.keys()].sort((one, other) => compareIds(groups[one], groups[other]));
  const answers: ChangeAnswer[] = [];
  try {
    // In one order: two processes that create the same schedules must not wait for each other.
    const reply = await engine.applySchedules({
      groups: sorted.map((index) => groups[index] as ChangeGroup),
    });
    for (const [i, index] of sorted.entries()) answers[index] = reply.groups[i] as ChangeAnswer;
    return answers;
  } catch (error) {
    if (groups.length === 1 || failsForAll(engine, error)) return groups.map(() => ({ failed: error }));
    return groups.map(() => 'alone');
  }
}

/** Whether the error says nothing about a single change. With many writers a busy store means the lock of one schedule. */
function failsForAll(engine: ChangeEngine, error: unknown): boolean {
  return isStoreTrouble(error) && !(isParallel(engine) && isDulyError(error, 'store_busy'));
}

function isParallel(engine: ChangeEngine): boolean {
  return engine.info === undefined || engine.info().isParallel === true;
}

function isCreation(change: ScheduleChange): boolean {
  return change.op === 'put' && change.expectVersion === null;
}

function compareIds(one: ChangeGroup | undefined, other: ChangeGroup | undefined): number {
  const [first = '', second = ''] = [one?.changes[0]?.id, other?.changes[0]?.id];
  return first < second ? -1 : first > second ? 1 : 0;
}
