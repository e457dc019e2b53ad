import { defineAlertKind } from '../alert-kind.ts';
import { plural } from '../finding-text.ts';

const deadMax = 100;

/** Dead letters wait for a person. */
export const deadLetters = defineAlertKind({
  kind: 'dead_letters',
  title: 'Dead letters wait',
  describe: 'more than {above} dead letters wait',
  fields: {
    // Below the number that is read, so that a rule can always fire.
    above: { json: 'above', type: 'integer', default: 0, min: 0, max: deadMax - 1, label: 'More than' },
  },

  /** How many there are, and whether there may be more. */
  async collect({ duly }) {
    const { jobs, nextCursor } = await duly.dead.list().page({ limit: deadMax });
    return { count: jobs.length, capped: nextCursor !== null };
  },

  // Dead letters are about the store: the types of a rule do not matter.
  evaluate(dead, { above }) {
    if (dead.count <= above) return [];
    const count = `${plural(dead.count, 'dead letter')}${dead.capped ? ' or more' : ''}`;
    const message = `There ${dead.count === 1 ? 'is' : 'are'} ${count}: jobs that failed for good and wait for a person.`;
    return [{ subject: 'store', message }];
  },
});
