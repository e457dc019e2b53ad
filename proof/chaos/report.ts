import type { ChaosReport } from './chaos.ts';

const violationCountMax = 20;

/** What a run must have in common with another to make the same faults; `engine` holds what else it was told, such as `--pooler`. */
type RepeatedRun = Pick<ChaosReport, 'engine' | 'minutes' | 'seed' | 'only'>;

/** The command that makes the same faults again. */
export function repeatCommand({ engine, minutes, seed, only }: RepeatedRun): string {
  const faults = only === null ? '' : ` --only '${only.replaceAll("'", "'\\''")}'`;
  return `npm run chaos -- --engine ${engine} --minutes ${minutes} --seed ${seed}${faults}`;
}

/** A report as a table for people. */
export function reportText(report: ChaosReport): string {
  const { faults, failures, jobs, calls, slots, violations } = report;
  const pairs = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none';
  const rows: [string, string][] = [
    ['seed', `${report.seed}`],
    ['nodes', `${report.nodeCount}, and a client`],
    ['took', `${(report.tookMs / 1000).toFixed(1)} s`],
    ...[...faults].map(([name, { made, struck }]): [string, string] => [
      `fault: ${name}`,
      struck === made ? `${struck}` : `struck ${struck} of ${made} times`,
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
    ['the machine stood still', `${(report.stalledMs / 1_000).toFixed(1)} s`],
    ['answers of health during outages', pairs(report.healthDuringOutages)],
    ['violations', `${violations.length}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
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
