import { formatDuration, type LedgerSlot, type Rule, type Schedule, systemClock } from '@duly/core';
import { toLedgerJson, toScheduleJson } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readCount } from '../cli/usage.ts';
import { printJson } from '../output/json.ts';
import { type Cell, printTable } from '../output/table.ts';
import { harmless, oneLine, type Style, type Terminal } from '../output/terminal.ts';
import { absolute, relative } from '../output/times.ts';
import { ruleOf, withSchedules } from '../schedules/schedule-client.ts';
import { dayText } from '../schedules/schedule-times.ts';
import { ruleText, stateCell } from './schedules-ls.ts';

/** `duly schedules show`. */
export async function schedulesShow(
  context: CommandContext,
  options: CommonOptions & { slots?: string },
  name: string,
): Promise<undefined> {
  const limit = readCount(options.slots, '--slots') ?? 10;
  await withSchedules(context, options, async ({ duly, command }) => {
    const schedule = await duly.schedules.get(name, { deleted: true });
    const ledger = await duly.schedules.slots({ id: schedule.id }, { limit });
    if (context.json) {
      printJson(context.out, { ...toScheduleJson(schedule), slots: ledger.map(toLedgerJson) });
      return;
    }
    const rule = ruleOf(schedule);
    printFields(context.out, schedule, rule);
    printLedger(context.out, ledger, rule);
    if (schedule.deleted !== null) {
      const all = command(`schedules show ${schedule.id} --slots 1000`);
      context.err.line(
        context.err.paint(
          'dim',
          `It is deleted; its ledger remains, and any slot is explained by its id. All of it: ${all}`,
        ),
      );
    }
  });
}

function printFields(out: Terminal, schedule: Schedule, rule: Rule): void {
  const now = systemClock.now();
  const local = (instant: Date): string => `${dayText(instant, rule)} (${relative(instant, now)})`;
  const state = stateCell(schedule);
  const { app, paused, deleted, disabled, flagged, drift, nextSlot, nextRunAt, lastRun } = schedule;
  const fields: [string, string | null][] = [
    ['id', schedule.id],
    ['name', schedule.name],
    ['created by', app === null ? 'a call (dynamic)' : `the code of "${app}" (declared)`],
    ['release', schedule.release],
    ['tenant', schedule.tenant],
    ['type', schedule.type],
    ['rule', ruleText(schedule)],
    ['in words', schedule.words],
    ['unreadable', schedule.unreadable === null ? null : unreadableText(schedule.unreadable)],
    ['timezone', schedule.timezone],
    ['state', typeof state === 'string' ? state : out.paint(state.style, state.text)],
    ['deleted', deleted === null ? null : `${local(deleted.at)} by ${deleted.by}${noteText(deleted.note)}`],
    ['next slot', nextSlot === null ? null : local(nextSlot)],
    [
      'due',
      nextRunAt === null || nextRunAt.getTime() === nextSlot?.getTime()
        ? null
        : `${local(nextRunAt)}, with its jitter`,
    ],
    ['last run', lastRun === null ? null : lastRunText(lastRun, local)],
    ['skips', schedule.skips.length === 0 ? null : schedule.skips.map(local).join(', ')],
    ['paused', paused === null || paused.cause === 'disabled' ? null : pausedText(paused, local)],
    ['disabled', disabled === null ? null : `${local(disabled.at)}${noteText(disabled.note)}`],
    [
      'flagged',
      flagged === null ? null : `${local(flagged.at)}, after ${flagged.failureCount} failures in a row`,
    ],
    ['drift', drift === null ? null : driftText(drift)],
    ['policies', policiesText(schedule)],
    ['input', schedule.input === null ? null : JSON.stringify(schedule.input)],
    ['metadata', Object.keys(schedule.metadata).length === 0 ? null : JSON.stringify(schedule.metadata)],
    ['queue', schedule.queue === 'default' ? null : schedule.queue],
    ['priority', schedule.priority === 0 ? null : String(schedule.priority)],
    ['fired', `${schedule.counts.fired} slots`],
    ['note', schedule.note],
    ['created', absolute(schedule.createdAt, now)],
    ['changed', absolute(schedule.updatedAt, now)],
  ];
  const shown = fields.filter((field): field is [string, string] => field[1] !== null);
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) {
    // What is painted already is ours; the rest may be what somebody else wrote.
    const text = name === 'state' ? value : harmless(value);
    out.sentence(`${out.paint('dim', name.padEnd(width))}  ${text}`);
  }
}

function unreadableText({ message, hint }: NonNullable<Schedule['unreadable']>): string {
  return hint === null ? message : `${message} ${hint}`;
}

function lastRunText(lastRun: NonNullable<Schedule['lastRun']>, local: (instant: Date) => string): string {
  const { slot, status, durationMs, latenessMs, jobId } = lastRun;
  return [
    `${status ?? 'no longer stored'}, slot ${local(slot)}`,
    ...(latenessMs === null ? [] : [`${formatDuration(Math.max(0, latenessMs))} late`]),
    ...(durationMs === null ? [] : [`took ${formatDuration(durationMs)}`]),
    jobId,
  ].join(', ');
}

function pausedText(paused: NonNullable<Schedule['paused']>, local: (instant: Date) => string): string {
  const who = paused.cause === 'failures' ? 'after failures in a row' : `by ${paused.by ?? 'nobody named'}`;
  const until = paused.until === null ? '' : `, until ${local(paused.until)}`;
  return `since ${local(paused.at)} ${who}${until}${noteText(paused.note)}`;
}

function driftText({ kind, fields, by, note }: NonNullable<Schedule['drift']>): string {
  if (kind === 'undeclared') return 'the process that looked last does not declare it';
  const changes = fields.map(
    ({ field, declared, stands }) => `${field} is ${valueText(stands)}, the code says ${valueText(declared)}`,
  );
  return `${changes.join('; ')} (changed by ${by ?? 'somebody'})${noteText(note)}`;
}

/** A value as it is written; `its default` for one that is not. */
export function valueText(value: unknown): string {
  return value === undefined || value === null ? 'its default' : JSON.stringify(value);
}

function noteText(note: string | null): string {
  return note === null ? '' : `: ${note}`;
}

function policiesText({ policies }: Schedule): string {
  return Object.entries(policies)
    .filter(([name, value]) => value !== null && !(name.startsWith('jitter') && policies.jitterMs === 0))
    .map(([name, value]) => {
      if (name.endsWith('Ms')) return `${name.slice(0, -2)} ${formatDuration(Number(value))}`;
      return `${name} ${value instanceof Date ? value.toISOString() : value}`;
    })
    .join(', ');
}

const slotStyles: Partial<Record<LedgerSlot['status'], Style>> = {
  completed: 'green',
  enqueued: 'yellow',
  late: 'red',
  held: 'yellow',
  missed: 'red',
  expired: 'red',
};

function printLedger(out: Terminal, ledger: readonly LedgerSlot[], rule: Rule): void {
  if (ledger.length === 0) return;
  const now = systemClock.now();
  out.line();
  printTable(
    out,
    [
      { title: 'SLOT' },
      { title: 'STATUS' },
      { title: 'DECIDED', align: 'right', leaveOut: 1 },
      { title: 'RUN' },
      { title: 'REASON', widthMin: 12, leaveOut: 2 },
    ],
    ledger.map((line): Cell[] => {
      const style = slotStyles[line.status];
      return [
        slotText(line, rule),
        style === undefined ? line.status : { text: line.status, style },
        line.decidedAt === null ? '' : relative(line.decidedAt, now),
        runsText(line.runs),
        oneLine(reasonText(line)),
      ];
    }),
  );
}

// More than these would push the rest of the line away.
const runsShownMax = 2;

function runsText(runs: LedgerSlot['runs']): string {
  if (runs.length <= runsShownMax) return runs.map((run) => `${run.id} ${run.status}`).join(', ');
  const counts = new Map<string, number>();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  return `${runs.length} runs: ${[...counts].map(([status, count]) => `${count} ${status}`).join(', ')}`;
}

function slotText({ slot, to, count }: LedgerSlot, rule: Rule): string {
  if (slot.getTime() === to.getTime()) return dayText(slot, rule);
  return `${dayText(slot, rule)} to ${dayText(to, rule)} (${count ?? 'many'})`;
}

function reasonText({ reason, runs, decision, compacted }: LedgerSlot): string {
  if (compacted !== null) {
    const counts = compacted.counts.map(
      (one) => `${one.atLeast ? 'at least ' : ''}${one.count.toLocaleString('en')} ${one.decision}`,
    );
    return `${compacted.month}: ${counts.join(', ')}`;
  }
  const late = runs[0]?.latenessMs ?? null;
  return [
    ...(reason === null ? [] : [decision === 'fired' ? reason : `${decision}: ${reason}`]),
    ...(late === null ? [] : [`${formatDuration(Math.max(0, late))} late`]),
  ].join(', ');
}
