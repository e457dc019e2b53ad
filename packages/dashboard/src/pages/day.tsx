import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { type Day, useDay } from '../api/schedules.ts';
import { addDays, type DaySpan, dateOf, daySpan, isDate } from '../time/day-span.ts';
import { clockTime, dayName, duration } from '../time/format.ts';
import { useNow } from '../time/time.tsx';
import { useZone } from '../time/zone.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { slotStyle } from '../ui/slot-status.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';

/** All schedules on one line of time, so that collisions are seen. */
export function DayPage() {
  const { name: zone } = useZone();
  const now = useNow();
  const navigate = useNavigate();
  const { date: asked = '' } = useSearch({ strict: false }) as { date?: string };
  // An address may say anything.
  const date = isDate(asked) ? asked : dateOf(now, zone);
  const span = daySpan(date, zone);
  const day = useDay(span.from, span.to);
  const go = (to: string | null) => void navigate({ to: '/day', search: to === null ? {} : { date: to } });
  return (
    <>
      <PageHead
        title="Day"
        about={`${dayName(span.from, zone)}, in ${zone}`}
        actions={
          <>
            <IconButton label="The day before" onClick={() => go(addDays(date, -1))}>
              <ChevronLeft aria-hidden className="size-4" />
            </IconButton>
            <Button onClick={() => go(null)}>Today</Button>
            <IconButton label="The day after" onClick={() => go(addDays(date, 1))}>
              <ChevronRight aria-hidden className="size-4" />
            </IconButton>
          </>
        }
      />
      {span.change !== null && (
        <p className="mb-3 rounded-lg border border-warn/40 bg-warn-soft px-3 py-2 text-sm text-warn">
          The clocks of {zone} go {span.change.byMs > 0 ? 'forward' : 'back'} by {duration(span.change.byMs)}{' '}
          at {clockTime(span.change.at, zone, { seconds: false })}.
        </p>
      )}
      <Panel>
        {day.data === undefined ? (
          <QueryState query={day} />
        ) : day.data.pages[0]?.data.length === 0 ? (
          <NothingYet
            title="No schedule yet."
            command={'duly schedules add nightly --type report --cron "0 2 * * *"'}
          />
        ) : (
          <Timeline days={day.data.pages} span={span} zone={zone} now={now} />
        )}
        {day.hasNextPage && (
          <p className="border-t border-line px-4 py-2">
            <Button kind="quiet" disabled={day.isFetchingNextPage} onClick={() => void day.fetchNextPage()}>
              Show more schedules
            </Button>
          </p>
        )}
      </Panel>
    </>
  );
}

function Timeline({
  days,
  span,
  zone,
  now,
}: {
  days: readonly Day[];
  span: DaySpan;
  zone: string;
  now: number;
}) {
  const length = span.to - span.from;
  const place = (at: number) => `${((at - span.from) / length) * 100}%`;
  const box = useRef<HTMLDivElement>(null);
  // Where it is wider than the window, one begins at what is now.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each day; the reader scrolls on
  useEffect(() => {
    const { current } = box;
    if (current === null || now < span.from || now > span.to) return;
    current.scrollLeft = (current.scrollWidth * (now - span.from)) / length - current.clientWidth / 2;
  }, [span.from]);
  const marks = Array.from({ length: 8 }, (_, at) => span.from + (at * length) / 8);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reachable by keyboard
    <section ref={box} aria-label="Timeline" tabIndex={0} className="overflow-x-auto px-4 py-3">
      <div className="grid min-w-[44rem] grid-cols-[7rem_1fr] gap-x-3 sm:grid-cols-[10rem_1fr]">
        <span className="sticky left-0 z-1 bg-surface" />
        <div aria-hidden className="tabular relative mb-1 h-4 text-xs text-ink-faint">
          {marks.map((at) => (
            <span key={at} className="absolute" style={{ left: place(at) }}>
              {clockTime(at, zone, { seconds: false })}
            </span>
          ))}
        </div>
        {days
          .flatMap(({ data }) => data)
          .map((schedule) => (
            <div key={schedule.id} className="contents">
              <Link
                to="/schedules/$id"
                params={{ id: schedule.id }}
                title={schedule.words}
                className={`sticky left-0 z-1 truncate border-t border-line bg-surface py-1.5 text-sm hover:underline ${schedule.paused ? 'text-ink-faint' : ''}`}
              >
                {schedule.name}
              </Link>
              <ol className="relative border-t border-line">
                {marks.map((at) => (
                  <li
                    key={`mark ${at}`}
                    aria-hidden
                    className="absolute inset-y-0 w-px bg-line"
                    style={{ left: place(at) }}
                  />
                ))}
                {schedule.slots.map((slot) => (
                  <SlotBar key={slot.slot} slot={slot} place={place} zone={zone} />
                ))}
                {span.change !== null && (
                  <li
                    aria-hidden
                    className="absolute inset-y-0 w-0.5 bg-warn"
                    style={{ left: place(span.change.at) }}
                  />
                )}
                {now > span.from && now < span.to && (
                  <li aria-hidden className="absolute inset-y-0 w-px bg-bad" style={{ left: place(now) }} />
                )}
              </ol>
            </div>
          ))}
      </div>
    </section>
  );
}

function SlotBar({
  slot,
  place,
  zone,
}: {
  slot: Day['data'][number]['slots'][number];
  place: (at: number) => string;
  zone: string;
}) {
  const from = Date.parse(slot.slot);
  const to = Date.parse(slot.to);
  const isComing = slot.status === 'coming';
  const { word, barClassName } = slotStyle(slot.status);
  const text = `${clockTime(from, zone)}${to > from ? ` to ${clockTime(to, zone)}, ${slot.count ?? 'many'} slots` : ''}: ${isComing ? 'to come' : word}`;
  return (
    <li
      title={text}
      className={`absolute inset-y-1.5 min-w-1 rounded-sm ${isComing ? 'border border-accent bg-accent-soft' : barClassName}`}
      style={{ left: place(from), width: to > from ? `calc(${place(to)} - ${place(from)})` : undefined }}
    >
      <span className="sr-only">{text}</span>
    </li>
  );
}
