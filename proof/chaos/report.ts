import type { ChaosReport } from './chaos.ts';

const violationCountMax = 20;
// The shortest moment that is told as a stall is a third of a lease, and what is lost within one and a half leases after one is excused (`no-false-reclaim`).
// A quarter of the time in such moments, evenly spread, is one every four thirds of a lease: no lease of the run is left that could be judged.
const stalledShareMax = 1 / 4;

/** What a run tells: that promises were kept, that some were broken, or, where the machine stood still for too much of it, nothing. */
export type ChaosVerdict = 'kept' | 'broken' | 'too busy to tell';

/** With which code each of them ends a run by hand; 2 as of a soak that is too short to tell. */
export const chaosExitCodes: Record<ChaosVerdict, number> = { kept: 0, broken: 1, 'too busy to tell': 2 };

/** Judges a run. A violation is one on a busy machine too: what the machine is to blame for is no violation. */
export function verdictOf({
  violations,
  stalledMs,
  watchedMs,
}: Pick<ChaosReport, 'violations' | 'stalledMs' | 'watchedMs'>): ChaosVerdict {
  if (violations.length > 0) return 'broken';
  return stalledMs > stalledShareMax * watchedMs ? 'too busy to tell' : 'kept';
}

/** What a run must have in common with another to make the same faults; `engine` holds what else it was told, such as `--pooler`. */
type RepeatedRun = Pick<ChaosReport, 'engine' | 'minutes' | 'seed' | 'only'>;

/** The command that makes the same faults again. */
export function repeatCommand({ engine, minutes, seed, only }: RepeatedRun): string {
  const faults = only === null ? '' : ` --only '${only.replaceAll("'", "'\\''")}'`;
  return `npm run chaos -- --engine ${engine} --minutes ${minutes} --seed ${seed}${faults}`;
}

/** A report as a table for people. */
export function reportText(report: ChaosReport): string {
  const { faults, failures, jobs, calls, slots, violations, stalledMs, watchedMs } = report;
  const isTooBusy = verdictOf(report) === 'too busy to tell';
  const pairs = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none';
  const rows: [string, string][] = [
    ['seed', `${report.seed}`],
    ['nodes', `${report.nodeCount}, and a client`],
    ['took', `${(report.tookMs / 1000).toFixed(1)} s`],
    ...[...faults].map(([name, { created, struck }]): [string, string] => [
      `fault: ${name}`,
      struck === created ? `${struck}` : `struck ${struck} of ${created} times`,
    ]),
    ...report.notes.map(([name, value]): [string, string] => [name, value]),
    ['calls', pairs(calls)],
    ['errors of the store', pairs(Object.fromEntries(failures))],
    ['jobs', pairs(jobs)],
    ['slots', pairs(slots)],
    [
      'decisions predicted',
      report.decisions === null ? 'none' : `${report.decisions.predicted} of ${report.decisions.noted}`,
    ],
    ["transactions of the program's own", pairs(report.transactions)],
    ['attempts lost', `${report.lostAttempts}`],
    ['outcomes in lists', `${report.lists.count} lists, ${report.lists.withLost} with a lost one`],
    ...longest(report.recoveries),
    ['the machine stood still', `${(stalledMs / 1_000).toFixed(1)} of ${(watchedMs / 1_000).toFixed(1)} s`],
    ['answers of health during outages', pairs(report.healthDuringOutages)],
    ['violations', isTooBusy ? 'too busy to tell' : `${violations.length}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  if (isTooBusy)
    lines.push(
      '',
      `Too busy to tell: the machine stood still for ${Math.round((100 * stalledMs) / watchedMs)} % of the run, and what is lost while it does, or soon after, is excused.`,
      `No violation was found, but above ${100 * stalledShareMax} % little is judged. On a machine with less to do: ${repeatCommand(report)}`,
    );
  if (violations.length === 0) return lines.join('\n');
  const listed = violations
    .slice(0, violationCountMax)
    .map(({ invariant, message }) => `- ${invariant}: ${message}`);
  return [
    ...lines,
    '',
    ...listed,
    ...(violations.length > violationCountMax
      ? [`- … and ${violations.length - violationCountMax} more`]
      : []),
    '',
    report.excerpt,
    '',
    `Everything lies in ${report.folder}`,
    `Run it again (the same faults; the machine decides the rest): ${repeatCommand(report)}`,
  ].join('\n');
}

/** The longest time until jobs moved again, for each kind of outage. */
function longest(recoveries: ChaosReport['recoveries']): [string, string][] {
  const most = new Map<string, number>();
  for (const { after, tookMs } of recoveries) most.set(after, Math.max(most.get(after) ?? 0, tookMs));
  return [...most].map(([after, tookMs]) => [`jobs moved after ${after}`, `${tookMs} ms at the latest`]);
}
