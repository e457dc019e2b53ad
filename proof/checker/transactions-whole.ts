import type { Transacted } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** See `promise`. */
export const transactionsWhole: Invariant = {
  name: 'transactions-whole',
  promise:
    "Jobs created in a transaction of the user's own are there if it was committed and never were if it was rolled back; if its process died, all of it is there or nothing.",
  parts: ['committed', 'rolled back', 'died'],
  check({ events, final }, { deleted }, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    if (final.own === undefined) return problems;
    const present = new Set([...final.jobs.map(({ id }) => id), ...deleted]);
    const marks = new Set(final.own.marks);
    const started = new Set(events.flatMap((event) => (event.kind === 'claimed' ? [event.id] : [])));
    const byTx = new Map<number, Transacted[]>();
    for (const event of events) {
      if (event.kind === 'transacted') byTx.set(event.tx, [...(byTx.get(event.tx) ?? []), event]);
    }
    for (const [tx, notes] of byTx) {
      const has = (state: Transacted['state']): boolean => notes.some((note) => note.state === state);
      const ids = notes.flatMap((note) => note.ids);
      const there = ids.filter((id) => present.has(id) || started.has(id));
      const fail = (message: string): void =>
        void problems.push({
          subjects: [`tx:${tx}`, ...ids],
          message: `Transaction ${tx} of ${notes[0]?.node}, begun at ${show(notes[0]?.at ?? null)}, ${message}`,
        });
      exercise(has('committed') ? 'committed' : has('rolledBack') ? 'rolled back' : 'died');
      const count = `${there.length} of its ${ids.length} jobs`;
      if (has('committed')) {
        if (there.length < ids.length) fail(`was committed, and only ${count} are there.`);
        if (!marks.has(tx)) fail('was committed, and its own row is not there.');
        continue;
      }
      const mayStand = has('committing') && !has('rolledBack');
      if (!mayStand && (there.length > 0 || marks.has(tx)))
        fail(
          `was ${has('rolledBack') ? 'rolled back' : 'never committed'}, and ${count} appeared${marks.has(tx) ? ' with its own row' : ''}.`,
        );
      else if (there.length !== (marks.has(tx) ? ids.length : 0))
        fail(`died with its process; its own row is ${marks.has(tx) ? '' : 'not '}there, and ${count} are.`);
    }
    return problems;
  },
};
