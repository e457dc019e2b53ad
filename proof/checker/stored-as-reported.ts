import type { Evidence } from '../history.ts';
import { type Facts, show } from './facts.ts';
import type { Exercise, Invariant } from './invariant.ts';

/** See `promise`. */
export const storedAsReported: Invariant = {
  name: 'stored-as-reported',
  promise:
    'What is kept says what happened: the error of the last attempt that failed, every log line that was taken, who cancelled, and who decided a slot.',
  parts: ['error', 'log lines', 'cancel', 'ledger'],
  check: (evidence, facts, exercise) => [
    ...errorProblems(evidence, facts, exercise),
    ...lineProblems(evidence, facts, exercise),
    ...cancelProblems(evidence, facts, exercise),
    ...ledgerProblems(evidence, exercise),
  ],
};

type Problems = ReturnType<Invariant['check']>;

function errorProblems({ final, isComplete }: Evidence, { accepted }: Facts, exercise: Exercise): Problems {
  // What a process that was killed had settled is not in the events.
  if (!isComplete) return [];
  return final.jobs.flatMap(({ id, status, error, attempts }) => {
    const outcomes = accepted.get(id) ?? [];
    const problems: Problems = [];
    const expected = outcomes.findLast((outcome) => outcome.error !== null)?.error ?? null;
    if (status !== 'COMPLETED' && expected !== null) exercise('error');
    // A job that returned has nothing to say of earlier failures; its attempts do.
    if (status !== 'COMPLETED' && (error?.message ?? null) !== expected) {
      problems.push({
        subjects: [id],
        message: `Job ${id} is ${status} and keeps the error ${quoted(error?.message ?? null)}; the last one settled was ${quoted(expected)}.`,
      });
    }
    for (const { n, fence, error: kept } of attempts) {
      const outcome = outcomes.find((one) => one.fence === fence);
      if (outcome === undefined || outcome.error === (kept?.message ?? null)) continue;
      problems.push({
        subjects: [id],
        message: `Attempt ${n} of job ${id} was settled by ${outcome.node} at ${show(outcome.at)} with the error ${quoted(outcome.error)} and keeps ${quoted(kept?.message ?? null)}.`,
      });
    }
    return problems;
  });
}

function lineProblems({ events, final }: Evidence, { accepted }: Facts, exercise: Exercise): Problems {
  if (final.lineCounts === undefined) return [];
  const counts = final.lineCounts;
  /** By job: the lines that were taken, once each however often they came. */
  const taken = new Map<string, Set<string>>();
  const take = (id: string, fence: number, lines: readonly number[]): void => {
    const known = taken.get(id) ?? new Set();
    for (const line of lines) known.add(`${fence}/${line}`);
    taken.set(id, known);
  };
  for (const event of events)
    if (event.kind === 'reported' && event.result === 'kept') take(event.id, event.fence, event.lines);
  for (const { id, fence, lines } of [...accepted.values()].flat()) take(id, fence, lines);
  return final.jobs.flatMap(({ id }) => {
    const expected = taken.get(id)?.size ?? 0;
    const count = counts[id] ?? 0;
    if (expected > 0) exercise('log lines');
    if (count === expected) return [];
    return [
      { subjects: [id], message: `Of job ${id} ${expected} log lines were taken, and ${count} are there.` },
    ];
  });
}

function cancelProblems(
  { events, final, isComplete }: Evidence,
  { touched }: Facts,
  exercise: Exercise,
): Problems {
  if (!isComplete) return [];
  const byPolicy = new Set<string>();
  for (const event of events)
    if (event.kind === 'fired' || event.kind === 'applied')
      for (const { id } of event.cancel) byPolicy.add(id);
  return final.jobs.flatMap(({ id, status, cancelledBy }) => {
    const acts = touched.get(id) ?? [];
    // Brought back, it has forgotten who cancelled it.
    if (status !== 'CANCELLED' || byPolicy.has(id) || acts.some(({ verb }) => verb === 'retry')) return [];
    const cancels = acts.filter(({ verb }) => verb === 'cancel' || verb === 'terminate');
    // The act that ended it at once; otherwise the first that asked its handler to stop.
    const first =
      cancels.find(({ result }) => result === 'changed') ?? cancels.find(({ result }) => result === 'asked');
    if (first !== undefined) exercise('cancel');
    if (first === undefined || cancelledBy === first.actor) return [];
    return [
      {
        subjects: [id],
        message: `Job ${id} was cancelled by ${quoted(first.actor ?? null)} at ${show(first.at)}, and is kept as cancelled by ${quoted(cancelledBy)}.`,
      },
    ];
  });
}

function ledgerProblems({ events, final }: Evidence, exercise: Exercise): Problems {
  const nodes = new Map<string, string>();
  for (const event of events) {
    const isKept =
      (event.kind === 'fired' && event.result === 'fired') ||
      (event.kind === 'applied' && event.result === 'applied');
    if (!isKept) continue;
    for (const { jobId, node } of event.slots) if (jobId !== null) nodes.set(jobId, node);
  }
  return Object.entries(final.ledger).flatMap(([scheduleId, rows]) =>
    rows.flatMap(({ jobId, node, fromAt }) => {
      const decider = jobId === null ? undefined : nodes.get(jobId);
      if (decider !== undefined) exercise('ledger');
      if (decider === undefined || decider === node) return [];
      return [
        {
          subjects: [scheduleId],
          message: `${scheduleId} slot ${show(fromAt)} was decided by ${decider}, and the ledger says ${node}.`,
        },
      ];
    }),
  );
}

function quoted(text: string | null): string {
  return text === null ? 'none' : `"${text}"`;
}
