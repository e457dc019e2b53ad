import type { Applied, Asked, Fired, HistoryEvent, MadeJob } from '../history.ts';
import { type Facts, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** What of a schedule's spec its jobs take over. */
interface Spec {
  policies: { startDeadlineMs: number | null; jitterMs: number };
  job: { input: string };
}

type Problems = ReturnType<Invariant['check']>;

// A real process knows the store's time only by its last answer.
const estimateMs = 250;

/** See `promise`. */
export const jobsAsAsked: Invariant = {
  name: 'jobs-as-asked',
  promise:
    'A job has the input, the due instant and the start deadline that its call, or the slot of its schedule, asked for.',
  check({ events, final, isComplete }, facts) {
    const problems: Problems = [];
    // The order of events of several processes does not tell which edit a decision saw, nor which fold came last.
    const unsure = isComplete ? new Set<string>() : unsureOf(events);
    const asked = new Map<number, Asked>();
    const specs = new Map<string, Spec>();
    const jitters = new Map<string, number>();
    const inputs = new Map<string, string>();
    const details = new Map<string, string | null>();
    /** Inputs of triggers' own. */
    const triggered = new Set<string>();
    const given = new Map<string, Set<string>>();
    const give = (id: string, input: string): void => {
      given.set(id, (given.get(id) ?? new Set()).add(input));
    };
    const answers: { asked: Asked; id: string; dueAt: number | undefined; at: number }[] = [];
    for (const event of events) {
      if (event.kind === 'asked' && event.wants !== undefined) {
        asked.set(event.call, event);
        if (event.what === 'trigger') triggered.add(event.wants.input);
      } else if (event.kind === 'answered' && event.outcome === 'acknowledged' && event.subject !== null) {
        const call = asked.get(event.call);
        const { subject: id, dueAt, at } = event;
        if (call !== undefined) answers.push({ asked: call, id, dueAt, at });
      } else if (event.kind === 'made') {
        for (const { id, input } of event.jobs) {
          // Sent again after an unknown outcome it is made no second time.
          if (!given.has(id)) inputs.set(id, input);
          give(id, input);
        }
      } else if (event.kind === 'changed' && event.folded !== undefined) {
        const { input, replaces, wantedAt, dueAt } = event.folded;
        const isEcho = facts.echoes.has(event);
        if (replaces && !isEcho) inputs.set(event.id, input);
        give(event.id, input);
        if (replaces && !isEcho && wantedAt !== dueAt) {
          problems.push({
            subjects: [event.id],
            message: `A call of ${event.node} at ${show(event.at)} wanted job ${event.id} at ${show(wantedAt)}, and it is due at ${show(dueAt)}.`,
          });
        }
      } else if (isWritten(event)) {
        const { scheduleId } = event;
        // An edit decides what was due by the spec before it.
        const spec = specs.get(scheduleId);
        for (const job of event.jobs) {
          inputs.set(job.id, job.input);
          give(job.id, job.input);
          if (job.slot !== null) details.set(job.id, job.slot.details);
          const isOwn = job.origin === 'trigger' && triggered.has(job.input);
          const difference =
            spec &&
            !isOwn &&
            !unsure.has(scheduleId) &&
            slotDifference(job, spec, jitters.get(scheduleId) ?? 0);
          if (difference === undefined || difference === false || difference === null) continue;
          problems.push({
            subjects: [job.id, scheduleId],
            message: `Job ${job.id} of ${scheduleId} ${difference}.`,
          });
        }
        for (const one of event.tell) details.set(one.id, one.details);
        if (event.kind !== 'applied' || event.spec === null) continue;
        const after = JSON.parse(event.spec) as Spec;
        specs.set(scheduleId, after);
        // A slot that was put off keeps the jitter that it had.
        jitters.set(scheduleId, Math.max(jitters.get(scheduleId) ?? 0, after.policies.jitterMs));
      }
    }
    const slackMs = isComplete ? 0 : estimateMs;
    for (const answer of answers)
      problems.push(...answerProblems(answer, facts, given.get(answer.id), slackMs));
    // What a killed process told nobody has noted.
    for (const { id, slot } of isComplete ? final.jobs : []) {
      const told = details.get(id);
      if (told === undefined || told === slot?.details) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} tells its handler ${slot?.details}; it was given ${told}.`,
      });
    }
    for (const { id, input } of final.jobs) {
      const expected = inputs.get(id);
      if (expected === undefined || expected === input || unsure.has(id)) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} has the input ${input}; it was given ${expected}.`,
      });
    }
    return problems;
  },
};

/** What was written more than once in an order that nobody knows: schedules with several specs, jobs that were replaced. */
function unsureOf(events: readonly HistoryEvent[]): Set<string> {
  const unsure = new Set<string>();
  const specs = new Map<string, string>();
  for (const event of events) {
    if (event.kind === 'changed' && event.folded?.replaces === true) unsure.add(event.id);
    if (event.kind !== 'applied' || event.spec === null) continue;
    const { policies, job } = JSON.parse(event.spec) as Spec;
    const decisive = JSON.stringify([policies.startDeadlineMs, policies.jitterMs, job.input]);
    if ((specs.get(event.scheduleId) ?? decisive) !== decisive) unsure.add(event.scheduleId);
    specs.set(event.scheduleId, decisive);
  }
  return unsure;
}

function isWritten(event: { kind: string }): event is Fired | Applied {
  const { kind, result } = event as Fired | Applied;
  return (kind === 'fired' && result === 'fired') || (kind === 'applied' && result === 'applied');
}

/** How the job of a slot differs from what its schedule says; null: it does not. */
function slotDifference(
  { slot, origin, dueAt, input, startDeadlineMs }: MadeJob,
  { job, policies }: Spec,
  jitterMs: number,
): string | null {
  if (input !== job.input) return `has the input ${input}; the schedule's is ${job.input}`;
  // What is not a slot's is due when somebody wanted it; when that is the model tells.
  if (origin !== 'schedule' || slot === null || slot.slotAt === null) return null;
  if (startDeadlineMs !== policies.startDeadlineMs)
    return `may start ${startDeadlineMs} ms after its due instant; the schedule says ${policies.startDeadlineMs}`;
  if (dueAt >= slot.slotAt && dueAt <= slot.slotAt + jitterMs) return null;
  return `is due at ${show(dueAt)}; its slot is ${show(slot.slotAt)} with a jitter of at most ${jitterMs} ms`;
}

/** What is wrong with a job that was acknowledged. */
function answerProblems(
  answer: { asked: Asked; id: string; dueAt: number | undefined; at: number },
  { made }: Facts,
  given: ReadonlySet<string> | undefined,
  slackMs: number,
): Problems {
  const { asked, id, dueAt, at } = answer;
  const { input, inMs, dueAt: wantedAt } = asked.wants as NonNullable<Asked['wants']>;
  const problems: Problems = [];
  if (given !== undefined && !given.has(input)) {
    problems.push({
      subjects: [id],
      message: `Job ${id} was asked for with the input ${input} and never had it.`,
    });
  }
  if (dueAt === undefined) return problems;
  const fromAt = wantedAt ?? asked.at + (inMs ?? 0) - slackMs;
  const toAt = wantedAt ?? at + (inMs ?? 0) + slackMs;
  // Of a call that was sent again the answer tells when the job is due by now.
  const madeAt = made.get(id)?.dueAt;
  if (madeAt !== undefined && (madeAt < fromAt || madeAt > toAt)) {
    problems.push({
      subjects: [id],
      message: `Job ${id} was asked for ${show(fromAt)} to ${show(toAt)} and made for ${show(madeAt)}.`,
    });
  }
  return problems;
}
