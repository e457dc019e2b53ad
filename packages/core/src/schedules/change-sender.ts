// Sends changes of schedules to the store, those that are asked for meanwhile together.

import { dulyError, fromPlainError } from '../base/errors.ts';
import type { AppliedSchedule, ApplySchedulesInput, GroupReply, ScheduleChange } from '../contract/engine.ts';
import { createBatcher, isStoreTrouble } from '../store/batcher.ts';
import type { ScheduleWritesOptions } from './writes.ts';

type ChangeGroup = ApplySchedulesInput['groups'][number];
type ChangeAnswer = GroupReply<AppliedSchedule> | { failed: unknown };

// Some 20 ms of one transaction.
const togetherMax = 200;

/** Creates the function that writes one change; it answers false for a conflict. */
export function createChangeSender(
  options: ScheduleWritesOptions,
): (change: ScheduleChange) => Promise<boolean> {
  const { actor, clock, random } = options;
  /** Changes that are asked for while one write is on its way travel together in the next: a thousand schedules are not a thousand commits. */
  const together = createBatcher<ChangeGroup, ChangeAnswer>({
    clock,
    random,
    maxItems: togetherMax,
    send: apply,
  });

  /** Never rejects, so that nothing is repeated by itself: a trigger whose outcome is unknown must not be asked for twice. */
  async function apply(groups: ChangeGroup[]): Promise<ChangeAnswer[]> {
    const engine = await options.engine();
    try {
      return (await engine.applySchedules({ groups })).groups;
    } catch (error) {
      if (groups.length === 1 || isStoreTrouble(error)) return groups.map(() => ({ failed: error }));
      // One that fails the whole call fails alone.
      const answers: ChangeAnswer[] = [];
      for (const group of groups) answers.push(...(await apply([group])));
      return answers;
    }
  }

  async function send(change: ScheduleChange): Promise<boolean> {
    const engine = await options.engine();
    const group = { actor: actor(), changes: [change] };
    // A store with many writers is asked for each: together they would all wait for what one of them waits for.
    const isTogether = engine.info !== undefined && engine.info().isParallel !== true;
    const answer = isTogether ? await together.push(group) : (await apply([group]))[0];
    if (answer === undefined) throw dulyError('internal', { message: 'The store answered without a group.' });
    if ('failed' in answer) throw answer.failed;
    if (answer.ok) return true;
    if (answer.error.code === 'records_conflict') return false;
    throw fromPlainError(answer.error);
  }

  return send;
}
