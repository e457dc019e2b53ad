import type { Applied, Asked, CreatedJob, FinalState, Fired, HistoryEvent } from '../history.ts';
import { type Facts, show } from './facts.ts';
import type { Invariant } from './invariant.ts';

/** What of a schedule's spec its jobs take over. */
interface Spec {
  policies: { startDeadlineMs: number | null; jitterMs: number; overlap: string };
  job: Pick<CreatedJob, 'type' | 'version' | 'queue' | 'tenant' | 'priority' | 'input' | 'serial'> & {
    policy: Pick<CreatedJob, 'maxAttempts' | 'timeoutMs' | 'retry' | 'delivery'>;
  };
}

type Problems = ReturnType<Invariant['check']>;

// A real process knows the store's time only by its last answer.
const estimateMs = 250;
// What one step of priority is worth in waiting time, and how far behind live runs those stand that are made after their time.
const priorityStepMs = 60_000;
const catchUpRankMs = 86_400_000;

/** See `promise`. */
export const jobsAsAsked: Invariant = {
  name: 'jobs-as-asked',
  promise:
    'A job has the input, the due instant, the start deadline, the serial key and all else that its call, or the slot of its schedule, asked for.',
  parts: ['call', 'slot', 'move', 'fold', 'fold with other options', 'details', 'stored'],
  check({ events, final, isComplete }, facts, exercise) {
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
    /** When each job was created by its own record: in a user's transaction, at the call and not at the commit. */
    const storedAt = new Map<string, number>();
    const answers: { asked: Asked; id: string; dueAt: number | undefined; at: number }[] = [];
    for (const event of events) {
      if ('jobs' in event && Array.isArray(event.jobs))
        for (const { id } of event.jobs)
          if (!storedAt.has(id))
            storedAt.set(id, (event.kind === 'created' ? event.calledAt : undefined) ?? event.at);
      if (event.kind === 'asked' && event.wants !== undefined) {
        asked.set(event.call, event);
        if (event.what === 'trigger') triggered.add(event.wants.input);
      } else if (event.kind === 'answered' && event.outcome === 'acknowledged' && event.subject !== null) {
        const call = asked.get(event.call);
        const { subject: id, dueAt, at } = event;
        if (call !== undefined) answers.push({ asked: call, id, dueAt, at });
      } else if (event.kind === 'created') {
        for (const { id, input, priority, rankOffsetMs } of event.jobs) {
          // Sent again after an unknown outcome it is made no second time.
          if (!given.has(id)) inputs.set(id, input);
          give(id, input);
          if (rankOffsetMs + priority * priorityStepMs === 0) continue;
          problems.push({
            subjects: [id],
            message: `Job ${id} has the priority ${priority} and ranks ${rankOffsetMs} ms after its due instant.`,
          });
        }
      } else if (event.kind === 'changed' && event.moved !== undefined) {
        const { wantedAt, dueAt } = event.moved;
        if (event.result === 'changed') exercise('move');
        if (event.result !== 'changed' || wantedAt === dueAt) continue;
        problems.push({
          subjects: [event.id],
          message: `Job ${event.id} was to be moved to ${show(wantedAt)} by ${event.node} at ${show(event.at)}, and is due at ${show(dueAt)}.`,
        });
      } else if (event.kind === 'changed' && event.folded !== undefined) {
        const { input, replaces, maxWaitMs = Number.POSITIVE_INFINITY, dueAt } = event.folded;
        const createdAt = storedAt.get(event.id) ?? Number.POSITIVE_INFINITY;
        const wantedAt = Math.min(event.folded.wantedAt, createdAt + maxWaitMs);
        const isRepeat = facts.echoes.has(event);
        if (facts.replaced.get(event.id) === null) unsure.add(event.id);
        if (replaces && !isRepeat) inputs.set(event.id, input);
        give(event.id, input);
        if (replaces && !isRepeat) exercise('fold');
        if (replaces && !isRepeat && wantedAt !== dueAt) {
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
          if (spec === undefined || unsure.has(scheduleId)) continue;
          exercise('slot');
          const isOwn = job.origin === 'trigger' && triggered.has(job.input);
          const wanted = isOwn ? { ...spec, job: { ...spec.job, input: job.input } } : spec;
          const difference =
            slotDifference(job, wanted, jitters.get(scheduleId) ?? 0) ??
            lineDifference(job, spec, event.jobs);
          if (difference === null) continue;
          problems.push({
            subjects: [job.id, scheduleId],
            message: `Job ${job.id} of ${scheduleId} ${difference}.`,
          });
        }
        for (const one of event.slotDetails) details.set(one.id, one.details);
        if (event.kind !== 'applied' || event.spec === null) continue;
        const after = JSON.parse(event.spec) as Spec;
        specs.set(scheduleId, after);
        // A slot that was put off keeps the jitter that it had.
        jitters.set(scheduleId, Math.max(jitters.get(scheduleId) ?? 0, after.policies.jitterMs));
      }
    }
    const slackMs = isComplete ? 0 : estimateMs;
    for (const answer of answers) {
      exercise('call');
      problems.push(...answerProblems(answer, facts, given.get(answer.id), slackMs));
    }
    // What a killed process told nobody has noted.
    for (const { id, slot } of isComplete ? final.jobs : []) {
      const reported = details.get(id);
      if (reported !== undefined) exercise('details');
      if (reported === undefined || reported === slot?.details) continue;
      problems.push({
        subjects: [id],
        message: `Job ${id} tells its handler ${slot?.details}; it was given ${reported}.`,
      });
    }
    for (const record of final.jobs) {
      const { id } = record;
      const created = facts.created.get(id);
      const replaced = facts.replaced.get(id);
      if (created === undefined || replaced === null) continue;
      const wanted = { ...created, ...replaced };
      if (replaced !== undefined && JSON.stringify(wanted) !== JSON.stringify(created))
        exercise('fold with other options');
      const isRetried = facts.touched.get(id)?.some(({ verb }) => verb === 'retry') === true;
      // A retry gives it more attempts.
      const difference = keptDifference(record, wanted, isRetried ? ['maxAttempts'] : []);
      if (difference !== null) problems.push({ subjects: [id], message: `Job ${id} ${difference}.` });
    }
    for (const { id, input } of final.jobs) {
      const expected = inputs.get(id);
      if (expected !== undefined && !unsure.has(id)) exercise('stored');
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
    const { startDeadlineMs, jitterMs, overlap } = policies;
    const decisive = JSON.stringify([startDeadlineMs, jitterMs, overlap, job]);
    if ((specs.get(event.scheduleId) ?? decisive) !== decisive) unsure.add(event.scheduleId);
    specs.set(event.scheduleId, decisive);
  }
  return unsure;
}

function isWritten(event: { kind: string }): event is Fired | Applied {
  const { kind, result } = event as Fired | Applied;
  return (kind === 'fired' && result === 'fired') || (kind === 'applied' && result === 'applied');
}

/** How the job of a schedule differs from what its schedule says; null: it does not. */
function slotDifference(created: CreatedJob, { job, policies }: Spec, jitterMs: number): string | null {
  const { slot, origin, dueAt, startDeadlineMs } = created;
  const { policy, serial: _serial, ...fields } = job;
  const { maxAttempts, timeoutMs, retry, delivery } = policy;
  for (const [name, said] of Object.entries({ ...fields, maxAttempts, timeoutMs, retry, delivery })) {
    // What is kept of a schedule may be more than jobs are made of.
    const given = created[name as keyof CreatedJob];
    if (given === undefined || JSON.stringify(given) === JSON.stringify(said)) continue;
    return `has the ${name} ${JSON.stringify(given)}; the schedule's is ${JSON.stringify(said)}`;
  }
  const { isCatchUp = false } = JSON.parse(slot?.details ?? '{}') as { isCatchUp?: boolean };
  const behindMs = created.rankOffsetMs + job.priority * priorityStepMs;
  if (isCatchUp ? behindMs < catchUpRankMs : behindMs !== 0)
    return `ranks ${behindMs} ms behind its due instant, and is ${isCatchUp ? '' : 'not '}created after its time`;
  // What is not a slot's is due when somebody wanted it; when that is the model tells.
  if (origin !== 'schedule' || slot === null || slot.slotAt === null) return null;
  if (startDeadlineMs !== policies.startDeadlineMs)
    return `may start ${startDeadlineMs} ms after its due instant; the schedule says ${policies.startDeadlineMs}`;
  if (dueAt >= slot.slotAt && dueAt <= slot.slotAt + jitterMs) return null;
  return `is due at ${show(dueAt)}; its slot is ${show(slot.slotAt)} with a jitter of at most ${jitterMs} ms`;
}

/**
 * How the line that a run stands in differs from what its schedule asks for; null: it does not. Its own serial key comes first. Else the
 * runs of `bufferAll` stand in one line, and each place of a backfill has one.
 */
function lineDifference(
  { serial, origin, slot, gates, id }: CreatedJob,
  { job, policies }: Spec,
  together: readonly CreatedJob[],
): string | null {
  const said = JSON.stringify(serial);
  if (job.serial !== null || (origin !== 'backfill' && (policies.overlap !== 'bufferAll' || slot?.allow))) {
    return serial === job.serial
      ? null
      : `has the serial key ${said}; the schedule's is ${JSON.stringify(job.serial)}`;
  }
  if (serial === null) return 'stands in no line';
  if (origin !== 'backfill') {
    const line = `schedule:${slot?.scheduleId}`;
    return serial === line ? null : `stands in the line ${said}, and the runs of its schedule in "${line}"`;
  }
  const ahead = together.filter((one) => one.origin === 'backfill' && gates.includes(one.id));
  if (ahead.some((one) => one.serial !== serial))
    return `stands in the line ${said}, and waits for one of another line`;
  // The first of a place: nobody else is.
  const first = together.find((one) => one.serial === serial);
  return ahead.length > 0 || first?.id === id
    ? null
    : `stands in the line ${said} of ${first?.id}, and does not wait`;
}

/** How a stored job differs from what its calls asked for; null: it does not. */
function keptDifference(
  kept: FinalState['jobs'][number],
  created: CreatedJob,
  except: readonly string[],
): string | null {
  const { type, version, queue, tenant, priority, serial, origin, maxAttempts, policy, slot } = kept;
  const { timeoutMs, retry, delivery } = policy;
  const fields = {
    ...{ type, version, queue, tenant, priority, serial, origin, maxAttempts, timeoutMs, retry, delivery },
    ...{ dedupe: kept.dedupeKey, slotAt: slot?.slotAt, fireId: slot?.fireId, allow: slot?.allow === true },
  };
  const before: Record<string, unknown> = {
    ...created,
    ...{ dedupe: created.dedupe?.key ?? null, slotAt: created.slot?.slotAt, fireId: created.slot?.fireId },
    allow: created.slot?.allow === true,
  };
  for (const [name, value] of Object.entries(fields)) {
    const [is, was] = [JSON.stringify(value), JSON.stringify(before[name])];
    if (is !== was && !except.includes(name)) return `is stored with the ${name} ${is}; its call had ${was}`;
  }
  return null;
}

/** What is wrong with a job that was acknowledged. */
function answerProblems(
  answer: { asked: Asked; id: string; dueAt: number | undefined; at: number },
  { created }: Facts,
  given: ReadonlySet<string> | undefined,
  slackMs: number,
): Problems {
  const { asked, id, dueAt, at } = answer;
  const { input, inMs, dueAt: wantedAt, options = {} } = asked.wants as NonNullable<Asked['wants']>;
  const problems: Problems = [];
  const job = created.get(id);
  for (const [name, value] of Object.entries(options)) {
    // What was folded into another job may have changed less of it.
    if (job === undefined || job.input !== input || job[name as keyof CreatedJob] === value) continue;
    problems.push({
      subjects: [id],
      message: `Job ${id} was asked for with the ${name} ${JSON.stringify(value)} and created with ${JSON.stringify(job[name as keyof CreatedJob])}.`,
    });
  }
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
  const createdAt = job?.dueAt;
  if (createdAt !== undefined && (createdAt < fromAt || createdAt > toAt)) {
    problems.push({
      subjects: [id],
      message: `Job ${id} was asked for ${show(fromAt)} to ${show(toAt)} and created for ${show(createdAt)}.`,
    });
  }
  return problems;
}
