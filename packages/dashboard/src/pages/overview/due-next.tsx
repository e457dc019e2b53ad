import { Link } from '@tanstack/react-router';
import { useDay, useSchedules } from '../../api/schedules.ts';
import { clockTime } from '../../time/format.ts';
import { Time, useNow } from '../../time/time.tsx';
import { useZone } from '../../time/zone.tsx';
import { Panel } from '../../ui/panel.tsx';

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** More marks than this are a bar. */
const markCountMax = 400;

/** The coming hour on a line, and the next runs by name. */
export function DueNext() {
  const schedules = useSchedules();
  const now = useNow();
  const { name } = useZone();
  const rows = (schedules.data?.data ?? [])
    .filter(({ next_run_at, paused }) => next_run_at !== null && paused === null)
    .map((one) => ({ ...one, at: Date.parse(one.next_run_at as string) }))
    .sort((a, b) => a.at - b.at);
  // Every slot of the coming hour, read anew each minute.
  const fromAt = Math.floor(now / minuteMs) * minuteMs;
  const day = useDay(fromAt, fromAt + hourMs + minuteMs);
  const soon = (day.data?.data ?? [])
    .filter(({ paused }) => !paused)
    .flatMap(({ id, name: title, slots }) =>
      slots
        .filter(({ status }) => status === 'coming')
        .map(({ slot }) => ({ id: `${id} ${slot}`, name: title, at: Date.parse(slot) })),
    )
    .filter(({ at }) => at >= now && at <= now + hourMs)
    .sort((a, b) => a.at - b.at)
    .slice(0, markCountMax);
  return (
    <Panel title="Due next">
      <div className="px-4 pt-3 pb-1" aria-hidden>
        <div className="relative h-6 rounded bg-raised">
          {soon.map(({ id, name: title, at }) => (
            <span
              key={id}
              title={`${title}, ${clockTime(at, name)}`}
              className="absolute inset-y-1 w-0.5 rounded-sm bg-accent"
              style={{ left: `${Math.max(0, Math.min(99, ((at - now) / hourMs) * 100))}%` }}
            />
          ))}
        </div>
        <div className="tabular mt-1 flex justify-between text-xs text-ink-faint">
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <span key={part}>{clockTime(now + part * hourMs, name, { seconds: false })}</span>
          ))}
        </div>
      </div>
      {rows.length === 0 ? (
        <p className="px-4 pb-6 text-center text-sm text-ink-faint">No schedule has a next run.</p>
      ) : (
        <ul className="divide-y divide-line">
          {rows.slice(0, 6).map((schedule) => (
            <li key={schedule.id} className="flex items-baseline justify-between gap-3 px-4 py-2 text-sm">
              <Link
                to="/schedules/$id"
                params={{ id: schedule.id }}
                className="truncate font-medium hover:underline"
              >
                {schedule.name}
              </Link>
              <span className="truncate text-xs text-ink-faint">{schedule.words}</span>
              <Time at={schedule.at} className="ml-auto shrink-0 text-xs text-ink-soft" />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
