/** What a process says of itself, held against what was done to it. */
import { show } from '../checker/facts.ts';
import type { Invariant } from '../checker/index.ts';
import type { Fault, HealthReport } from '../history.ts';

/** From when until when nobody, or one process, could have a write confirmed, as faults write it: not a moment too long. */
export const noWrites = 'no-writes';

// As long as it may take until jobs move again, and twice the time of a question that began just before.
const recoverMs = 25_000;

const meets = (fault: Fault, node: string): boolean => fault.node === '*' || fault.node === node;

/** Answers that were asked for and given while no write could be confirmed: whether each was bad. */
export function reportedDuring(
  events: readonly { kind: string }[],
): { reported: HealthReport; outage: Fault }[] {
  const outages = (events as Fault[]).filter(({ kind, fault }) => kind === 'fault' && fault === noWrites);
  return (events as HealthReport[])
    .filter(({ kind }) => kind === 'health')
    .flatMap((reported) => {
      const outage = outages.find(
        (one) =>
          meets(one, reported.node) && reported.askedAt >= one.at && reported.at <= (one.untilAt ?? one.at),
      );
      return outage === undefined ? [] : [{ reported, outage }];
    });
}

/** Whoever can connect and read is not well for that. */
export const healthReportsTruth: Invariant = {
  name: 'health-reports-truth',
  promise:
    'While no write is confirmed, health and readiness say so; when writes are confirmed again, they say that within 25 s.',
  check({ events }) {
    const problems: ReturnType<Invariant['check']> = [];
    for (const { reported, outage } of reportedDuring(events)) {
      if (reported.isBad) continue;
      problems.push({
        subjects: [],
        message: `${reported.node} said at ${show(reported.at)} (${reported.of}) that all is well, though no write was confirmed from ${show(outage.at)} on.`,
      });
    }
    const samples = new Map<string, HealthReport[]>();
    for (const event of events) {
      if (event.kind !== 'health') continue;
      const key = `${event.node} ${event.of}`;
      samples.set(key, [...(samples.get(key) ?? []), event]);
    }
    const faults = events.filter((event) => event.kind === 'fault');
    for (const all of samples.values()) {
      const { node, of } = all[0] as HealthReport;
      for (const outage of faults.filter(({ fault }) => fault === noWrites)) {
        const fromAt = outage.untilAt ?? outage.at;
        const toAt = fromAt + recoverMs;
        const isHarmedAgain = faults.some(
          (other) =>
            meets(other, node) && other.untilAt !== undefined && other.at > fromAt && other.at < toAt,
        );
        if (!meets(outage, node) || isHarmedAgain) continue;
        const after = all.filter(({ askedAt, at }) => askedAt >= fromAt && at <= toAt);
        // Only who was there before and afterwards can be asked.
        const isThere = all.some(({ at }) => at < fromAt) && all.some(({ at }) => at > toAt);
        const isWell = ({ isBad, reasons }: HealthReport): boolean =>
          !isBad || (of === 'health' && !reasons.includes('store') && !reasons.includes('writes'));
        if (!isThere || after.length === 0 || after.some(isWell)) continue;
        problems.push({
          subjects: [],
          message: `${node} said for ${recoverMs / 1_000} s after ${show(fromAt)} (${of}) that the store is not well, though it was: ${after.at(-1)?.reasons.join(' ')}`,
        });
      }
    }
    return problems;
  },
};
