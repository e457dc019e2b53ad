import { Link } from '@tanstack/react-router';
import { CalendarClock, Hourglass, RotateCw } from 'lucide-react';
import { inputText, useUpcoming } from '../../api/jobs.ts';
import { useComingSlots, useDueSchedules } from '../../api/schedules.ts';
import { clockTime } from '../../time/format.ts';
import { Time, useNow } from '../../time/time.tsx';
import { useZone } from '../../time/zone.tsx';
import { Panel } from '../../ui/panel.tsx';
import { QueryState } from '../../ui/states.tsx';

const hourMs = 3_600_000;
const minuteMs = 60_000;
/** More marks than this are a bar. */
const markCountMax = 400;
const listedCount = 8;

/** The coming hour on a line: the slots of schedules, and the jobs that wait for their time; and the next of both by name. */
export function DueNext() {
  const { name: zone } = useZone();
  const now = useNow();
  return (
    <Panel
      title="Due next"
      actions={
        <Link to="/forecast" className="text-xs text-accent hover:underline">
          Forecast
        </Link>
      }
    >
      <div className="space-y-1 px-4 pt-3 pb-1">
        <SlotLine now={now} zone={zone} />
        <JobLine now={now} zone={zone} />
        <div aria-hidden className="tabular ml-20 flex justify-between text-xs text-ink-faint">
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <span key={part}>{clockTime(now + part * hourMs, zone, { seconds: false })}</span>
          ))}
        </div>
      </div>
      <NextOnes now={now} />
    </Panel>
  );
}

interface Mark {
  id: string;
  text: string;
  at: number;
  to: number;
  /** 0 to 1: how high. */
  share: number;
  /** Many behind one another: others are to be seen before it. */
  isDense?: boolean;
}

function Line({
  name,
  marks,
  now,
  className,
}: {
  name: string;
  marks: readonly Mark[];
  now: number;
  className: string;
}) {
  const place = (at: number) => Math.max(0, Math.min(100, ((at - now) / hourMs) * 100));
  return (
    <div className="flex items-center gap-2">
      <span className="w-18 shrink-0 text-xs text-ink-faint">{name}</span>
      <div aria-hidden className="relative h-6 min-w-0 flex-1 overflow-hidden rounded bg-raised">
        {marks.slice(0, markCountMax).map(({ id, text, at, to, share, isDense }) => (
          <span
            key={id}
            title={text}
            className={`absolute bottom-1 min-w-0.5 rounded-sm ${className} ${isDense ? 'opacity-35' : ''}`}
            style={{
              left: `${place(at)}%`,
              width: `${place(to) - place(at)}%`,
              height: `${Math.max(0.25, share)}rem`,
            }}
          />
        ))}
      </div>
    </div>
  );
}

/** Every slot of the coming hour, read anew each minute. */
function SlotLine({ now, zone }: { now: number; zone: string }) {
  const fromAt = Math.floor(now / minuteMs) * minuteMs;
  const day = useComingSlots(fromAt, fromAt + hourMs + minuteMs);
  const marks = (day.data?.data ?? [])
    .filter(({ paused }) => !paused)
    .flatMap(({ id, name, slots }) =>
      slots
        .filter(({ status }) => status === 'coming')
        .map(({ slot, to, count }) => {
          const [at, toAt] = [Date.parse(slot), Date.parse(to)];
          const many =
            toAt > at ? ` to ${clockTime(toAt, zone)}, ${count?.toLocaleString('en') ?? 'many'} slots` : '';
          return {
            id: `${id} ${slot}`,
            text: `${name}, ${clockTime(at, zone)}${many}`,
            at,
            to: toAt,
            share: 1,
            isDense: toAt > at,
          };
        }),
    )
    .filter(({ at, to }) => to >= now && at <= now + hourMs)
    .sort((a, b) => a.at - b.at);
  return <Line name="Schedules" marks={marks} now={now} className="bg-accent" />;
}

/** The jobs of the coming hour by the minute: the more, the higher. */
function JobLine({ now, zone }: { now: number; zone: string }) {
  const upcoming = useUpcoming(listedCount).data;
  const most = Math.max(1, ...(upcoming?.steps ?? []).map(({ count }) => count));
  const marks = (upcoming?.steps ?? []).map(({ from, count }) => {
    const at = Date.parse(from);
    const text = `${count.toLocaleString('en')} ${count === 1 ? 'job' : 'jobs'}, ${clockTime(at, zone)}`;
    // Next to each other they would run into one.
    return { id: from, text, at, to: at + (upcoming?.step_ms ?? 0) * 0.8, share: count / most };
  });
  return <Line name="Jobs" marks={marks} now={now} className="bg-run" />;
}

/** The next runs of schedules and the next jobs, in the order in which they fall due. */
function NextOnes({ now }: { now: number }) {
  // One that is paused until then is due, and has no run.
  const due = useDueSchedules(3 * listedCount);
  const waiting = useUpcoming(listedCount);
  if (due.data === undefined) return <QueryState query={due} />;
  if (waiting.data === undefined) return <QueryState query={waiting} />;
  const schedules = due.data.data;
  const upcoming = waiting.data;
  const rows = [
    ...schedules
      .filter(({ next_run_at, paused }) => next_run_at !== null && paused === null)
      .map(({ id, name, words, next_run_at }) => ({
        ...{ id, name, about: words, icon: CalendarClock },
        at: Date.parse(next_run_at as string),
        to: '/schedules/$id' as const,
      })),
    ...upcoming.data.map((job) => ({
      ...{ id: job.id, name: job.type, to: '/jobs/$id' as const },
      about: job.status === 'RETRYING' ? `attempt ${job.attempts + 1}` : inputText(job.input),
      icon: job.status === 'RETRYING' ? RotateCw : Hourglass,
      at: Date.parse(job.next_attempt_at ?? job.due_at),
    })),
  ]
    .filter(({ at, to }) => to === '/schedules/$id' || at > now - minuteMs)
    .sort((a, b) => a.at - b.at);
  const total = upcoming.steps.reduce((sum, { count }) => sum + count, 0);
  if (rows.length === 0)
    return (
      <p className="px-4 pb-6 text-center text-sm text-ink-faint">
        No schedule has a next run, and no job waits.
      </p>
    );
  return (
    <>
      <ul className="divide-y divide-line">
        {rows.slice(0, listedCount).map(({ id, name, about, icon: Icon, to, at }) => (
          <li key={id} className="flex items-center gap-2 px-4 py-2 text-sm">
            <Icon aria-hidden className="size-4 shrink-0 text-ink-faint" />
            <Link
              to={to}
              params={{ id }}
              className="max-w-1/2 shrink-0 truncate font-medium hover:underline"
              title={name}
            >
              {name}
            </Link>
            <span className="min-w-0 truncate text-xs text-ink-faint">{about}</span>
            <Time at={at} className="ml-auto shrink-0 text-xs text-ink-soft" />
          </li>
        ))}
      </ul>
      {total > 0 && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          <Link to="/jobs" search={{ q: 'status:scheduled,retrying' }} className="hover:underline">
            {total.toLocaleString('en')}
            {upcoming.capped && '+'} {total === 1 ? 'job waits' : 'jobs wait'} for a time in the coming hour
          </Link>
        </p>
      )}
    </>
  );
}
