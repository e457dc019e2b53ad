/** The checker: reads a whole history and holds every invariant of it. */
import type { Evidence } from '../history.ts';
import { actsAudited } from './acts-audited.ts';
import { atMostOnce } from './at-most-once.ts';
import { attemptsCounted } from './attempts-counted.ts';
import { cancelsHold } from './cancels-hold.ts';
import { comesAgain } from './comes-again.ts';
import { comesToRest } from './comes-to-rest.ts';
import { deadlinesHold } from './deadlines-hold.ts';
import { decisionsPredicted } from './decisions-predicted.ts';
import { effectsOnce } from './effects-once.ts';
import { factsOf } from './facts.ts';
import { feedReports } from './feed-reports.ts';
import { fencesGrow } from './fences-grow.ts';
import { gatesHold } from './gates-hold.ts';
import type { Exercise, Invariant, Violation } from './invariant.ts';
import { jobsAsAsked } from './jobs-as-asked.ts';
import { ledgerAgrees } from './ledger-agrees.ts';
import { limitsHold } from './limits-hold.ts';
import { neverEarly } from './never-early.ts';
import { nothingVanishes } from './nothing-vanishes.ts';
import { onceRecorded } from './once-recorded.ts';
import { oneDecision } from './one-decision.ts';
import { oneHolder } from './one-holder.ts';
import { noFalseReclaim, oneLease } from './one-lease.ts';
import { oneOutcome } from './one-outcome.ts';
import { onlyHandled } from './only-handled.ts';
import { outcomeFollows } from './outcome-follows.ts';
import { pausesHold } from './pauses-hold.ts';
import { promisesKept } from './promises-kept.ts';
import { refusedAbsent } from './refused-absent.ts';
import { releasesRise } from './releases-rise.ts';
import { reportsFenced } from './reports-fenced.ts';
import { schedulesLive } from './schedules-live.ts';
import { signalsAborted } from './signals-aborted.ts';
import { startsInTime } from './starts-in-time.ts';
import { storedAsReported } from './stored-as-reported.ts';
import { suspectsAlone } from './suspects-alone.ts';
import { takenByRank } from './taken-by-rank.ts';
import { transactionsWhole } from './transactions-whole.ts';
import { valuesExpire } from './values-expire.ts';

export type { Exercise, Invariant, Violation } from './invariant.ts';

/** Every invariant. */
export const invariants: readonly Invariant[] = [
  comesToRest,
  promisesKept,
  nothingVanishes,
  actsAudited,
  storedAsReported,
  jobsAsAsked,
  oneOutcome,
  outcomeFollows,
  fencesGrow,
  neverEarly,
  oneLease,
  noFalseReclaim,
  limitsHold,
  onlyHandled,
  gatesHold,
  cancelsHold,
  deadlinesHold,
  comesAgain,
  atMostOnce,
  ledgerAgrees,
  oneDecision,
  decisionsPredicted,
  schedulesLive,
  refusedAbsent,
  releasesRise,
  reportsFenced,
  attemptsCounted,
  oneHolder,
  startsInTime,
  takenByRank,
  suspectsAlone,
  feedReports,
  signalsAborted,
  pausesHold,
  valuesExpire,
  onceRecorded,
  transactionsWhole,
  effectsOnce,
];

/** Everything in a history that breaks an invariant; empty: it holds all of them. */
export function check(
  evidence: Evidence,
  held: readonly Invariant[] = invariants,
  counts: ExerciseCounts = new Map(),
): Violation[] {
  const facts = factsOf(evidence);
  return held.flatMap((invariant) => {
    const names = exerciseNames(invariant);
    for (const name of names) counts.set(name, counts.get(name) ?? 0);
    const exercise: Exercise = (part) => {
      const name = nameOf(invariant, part);
      const count = counts.get(name);
      if (count === undefined || !names.includes(name)) throw new Error(`Unknown part: ${name}.`);
      counts.set(name, count + 1);
    };
    return invariant
      .check(evidence, facts, exercise)
      .map((problem) => ({ invariant: invariant.name, ...problem }));
  });
}

/** The number of comparisons by invariant, or by `invariant: part`. */
export type ExerciseCounts = Map<string, number>;

/** The names under which the comparisons of an invariant are counted. */
export function exerciseNames(invariant: Invariant): string[] {
  return invariant.parts?.map((part) => nameOf(invariant, part)) ?? [invariant.name];
}

function nameOf({ name }: Invariant, part: string | undefined): string {
  return part === undefined ? name : `${name}: ${part}`;
}
