import { Check, Minus, X } from 'lucide-react';
import { type Schedule, useSlots } from '../../api/schedules.ts';
import {
  type CalendarCell,
  type CalendarTone,
  calendarCells,
  datesBetween,
  placeIn,
} from '../../charts/calendar-cells.ts';
import { useNow } from '../../time/time.tsx';
import { Panel } from '../../ui/panel.tsx';
import { slotStyle } from '../../ui/slot-status.tsx';

const tones: Readonly<Record<string, CalendarTone>> = {
  'text-good': 'good',
  'text-bad': 'bad',
  'text-run': 'run',
  'text-warn': 'warn',
};

const toneStyle: Record<CalendarTone, { className: string; word: string }> = {
  quiet: { className: 'border border-line-strong bg-raised text-ink-faint', word: 'skipped or excluded' },
  good: { className: 'bg-good text-surface', word: 'completed' },
  run: { className: 'bg-run text-surface', word: 'under way' },
  warn: { className: 'bg-warn text-surface', word: 'late, missed or merged' },
  bad: { className: 'bg-bad text-surface', word: 'failed' },
};

const dayMs = 86_400_000;
const weekdays = ['Mon', '', 'Wed', '', 'Fri', '', ''];

/** The ledger as a calendar: a square for each day, or for each hour where there are many slots in a day. */
export function LedgerCalendar({ schedule }: { schedule: Schedule }) {
  const slots = useSlots(schedule.id, { limit: 1_000 });
  const now = useNow();
  const rows = slots.data?.data ?? [];
  // Before its first slot there is nothing to draw.
  if (rows.every(({ slot }) => Date.parse(slot) > now)) return null;
  const { timezone } = schedule;
  const place = placeIn(timezone);
  const firstAt = Date.parse((rows.at(-1) as { slot: string }).slot);
  const by = now - firstAt > 8 * dayMs ? 'day' : 'hour';
  const cells = calendarCells(
    rows.map((slot) => ({
      ...slot,
      tone: tones[slotStyle(slot.status, slot.runs[0]?.status).className] ?? 'quiet',
    })),
    timezone,
    by,
  );
  const today = place(now).date;
  const most = Math.max(...[...cells.values()].map(({ slotCount }) => slotCount));
  const dates = datesBetween(place(by === 'day' ? Math.min(firstAt, now - 90 * dayMs) : firstAt).date, today);
  return (
    <Panel
      title="Calendar"
      actions={
        <ul className="flex flex-wrap gap-x-3 text-xs text-ink-soft">
          {(['good', 'warn', 'bad', 'quiet'] as const).map((tone) => (
            <li key={tone} className="inline-flex items-center gap-1">
              <span
                className={`inline-flex size-3 items-center justify-center rounded-sm ${toneStyle[tone].className}`}
              >
                <Mark tone={tone} />
              </span>
              {toneStyle[tone].word}
            </li>
          ))}
        </ul>
      }
    >
      {/** biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reachable by keyboard */}
      <section className="overflow-x-auto px-4 py-3" aria-label="Calendar of slots" tabIndex={0}>
        {by === 'day' ? (
          <Days dates={dates} cells={cells} most={most} />
        ) : (
          <Hours dates={dates} cells={cells} most={most} />
        )}
        <p className="mt-2 text-xs text-ink-faint">
          By {by} in {timezone}
          {rows.length === 1_000 && ', the newest 1,000 lines of the ledger'}.
        </p>
      </section>
    </Panel>
  );
}

function Days({ dates, cells, most }: { dates: string[]; cells: Map<string, CalendarCell>; most: number }) {
  // Weeks are columns, Monday on top.
  const lead = (new Date(`${dates[0]}T00:00:00Z`).getUTCDay() + 6) % 7;
  const weekCount = Math.ceil((lead + dates.length) / 7);
  return (
    <div className="flex gap-1">
      <div aria-hidden className="grid grid-rows-7 gap-1 pt-4 text-[10px] leading-4 text-ink-faint">
        {weekdays.map((name, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: seven days, always
          <span key={at} className="h-4">
            {name}
          </span>
        ))}
      </div>
      <div>
        <div aria-hidden className="flex h-4 gap-1 text-[10px] text-ink-faint">
          {Array.from({ length: weekCount }, (_, week) => {
            const date = dates[Math.max(0, week * 7 - lead)] as string;
            const isFirst = week === 0 || Number(date.slice(8)) <= 7;
            return (
              <span key={date} className="w-4 overflow-visible whitespace-nowrap">
                {isFirst &&
                  new Date(`${date}T00:00:00Z`).toLocaleString('en', { month: 'short', timeZone: 'UTC' })}
              </span>
            );
          })}
        </div>
        <ol className="grid grid-flow-col grid-rows-7 gap-1" style={{ width: 'max-content' }}>
          {Array.from({ length: lead }, (_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: empty places before the first day
            <li key={`before ${at}`} aria-hidden className="size-4" />
          ))}
          {dates.map((date) => (
            <Square key={date} name={date} cell={cells.get(date)} most={most} />
          ))}
        </ol>
      </div>
    </div>
  );
}

function Hours({ dates, cells, most }: { dates: string[]; cells: Map<string, CalendarCell>; most: number }) {
  return (
    <div className="space-y-1">
      <div aria-hidden className="tabular flex gap-1 pl-20 text-[10px] whitespace-nowrap text-ink-faint">
        {Array.from({ length: 24 }, (_, hour) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: hours do not move
          <span key={hour} className="w-4 shrink-0 text-center">
            {hour % 3 === 0 ? String(hour).padStart(2, '0') : ''}
          </span>
        ))}
      </div>
      {dates.map((date) => (
        <div key={date} className="flex items-center gap-1">
          <span className="tabular w-19 shrink-0 text-xs whitespace-nowrap text-ink-faint">{date}</span>
          <ol className="flex gap-1">
            {Array.from({ length: 24 }, (_, hour) => {
              const name = `${date} ${String(hour).padStart(2, '0')}:00`;
              return <Square key={name} name={name} cell={cells.get(`${date} ${hour}`)} most={most} />;
            })}
          </ol>
        </div>
      ))}
    </div>
  );
}

function Square({ name, cell, most }: { name: string; cell: CalendarCell | undefined; most: number }) {
  if (cell === undefined) {
    return <li title={`${name}: no slot`} className="size-4 shrink-0 rounded-sm border border-line" />;
  }
  const parts = (['bad', 'warn', 'run', 'good', 'quiet'] as const)
    .filter((tone) => cell.counts[tone] !== undefined)
    .map((tone) => `${cell.counts[tone]?.toLocaleString('en')} ${toneStyle[tone].word}`);
  const text = `${name}: ${parts.join(', ')}`;
  // More slots, more colour; trouble is always plain to see.
  const opacity = cell.tone === 'good' && most > 1 ? 0.55 + 0.45 * (cell.slotCount / most) : 1;
  return (
    <li
      title={text}
      className={`flex size-4 shrink-0 items-center justify-center rounded-sm ${toneStyle[cell.tone].className}`}
      style={{ opacity }}
    >
      <Mark tone={cell.tone} />
      <span className="sr-only">{text}</span>
    </li>
  );
}

/** What a tone is without its colour. */
function Mark({ tone }: { tone: CalendarTone }) {
  const Icon = tone === 'bad' ? X : tone === 'warn' ? Minus : tone === 'good' ? Check : null;
  return Icon === null ? null : <Icon aria-hidden className="size-3" strokeWidth={3} />;
}
