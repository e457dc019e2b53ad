import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { CircleAlert, Flag, PauseCircle } from 'lucide-react';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { type Schedule, useLastSlots, useSchedules } from '../api/schedules.ts';
import { failureShare, type ScheduleStats, shareText, useScheduleStats } from '../api/stats.ts';
import { SlotStrip } from '../charts/slot-strip.tsx';
import { useMay } from '../shell/caller.tsx';
import { duration } from '../time/format.ts';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { FilteredAway, Loading, NothingYet, Trouble } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { NewSchedule } from './schedules/new-schedule.tsx';

/** Every rule that makes jobs. */
export function SchedulesPage() {
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const may = useMay('operate');
  const [isMaking, setMaking] = useState(false);
  const schedules = useSchedules();
  const figures = useScheduleStats();
  const stats = new Map(figures.data?.data.map((one) => [one.schedule_id, one]));
  const search = (text: string) =>
    void navigate({ to: '/schedules', search: text === '' ? {} : { q: text }, replace: true });
  const wanted = q.toLowerCase();
  const rows = schedules.data?.data.filter((one) =>
    [one.name, one.type, one.words, one.tenant ?? ''].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <PageHead
        title="Schedules"
        about="Rules that make jobs, each slot of them decided once."
        actions={
          may && (
            <Button kind="primary" onClick={() => setMaking(true)}>
              New schedule
            </Button>
          )
        }
      />
      <div className="mb-3 max-w-md">
        <TextInput
          data-search
          aria-label="Search schedules"
          placeholder="Name, task, words of the rule"
          value={q}
          onChange={(event) => search(event.target.value)}
        />
      </div>
      <Panel>
        {schedules.isPending ? (
          <Loading />
        ) : rows === undefined ? (
          <Trouble error={schedules.error} onRetry={() => void schedules.refetch()} />
        ) : rows.length === 0 ? (
          q === '' ? (
            <NothingYet
              title="No schedule yet."
              command={'duly schedules add nightly --task report --cron "0 2 * * *"'}
            />
          ) : (
            <FilteredAway what="schedules" onClear={() => search('')} />
          )
        ) : (
          <Table
            label="Schedules"
            head={['Schedule', 'Rule', 'Last slots', 'Last run', 'Took p50 · p95', 'Failed', 'Next run']}
          >
            {rows.map((schedule) => (
              <ScheduleRow key={schedule.id} schedule={schedule} stats={stats.get(schedule.id)} />
            ))}
          </Table>
        )}
        {schedules.data?.has_more === true && (
          <p className="border-t border-line px-4 py-2 text-xs text-ink-faint">
            The first {schedules.data.data.length} by name; a search looks at these only.
          </p>
        )}
      </Panel>
      {isMaking && <NewSchedule onClose={() => setMaking(false)} />}
    </>
  );
}

function ScheduleRow({ schedule, stats }: { schedule: Schedule; stats: ScheduleStats | undefined }) {
  const row = useRef<HTMLTableRowElement>(null);
  const slots = useLastSlots(schedule.id, useSeen(row));
  const { last_run: last } = schedule;
  return (
    <tr ref={row}>
      <Cell>
        <Link to="/schedules/$id" params={{ id: schedule.id }} className="font-medium hover:underline">
          {schedule.name}
        </Link>
        <p className="text-xs text-ink-faint">
          {schedule.type}
          {schedule.tenant !== null && ` for ${schedule.tenant}`}
        </p>
        <Signs schedule={schedule} />
      </Cell>
      <Cell className="sm:min-w-44">
        <p>{schedule.words}</p>
        <p className="text-xs text-ink-faint">{schedule.timezone}</p>
      </Cell>
      <Cell>
        <SlotStrip slots={slots.data?.data.slice(0, 50) ?? []} timezone={schedule.timezone} />
      </Cell>
      <Cell>
        {last === null ? (
          <span className="text-ink-faint">never</span>
        ) : (
          <>
            {last.status !== null && <StatusBadge status={last.status} />}
            <p className="mt-0.5 text-xs text-ink-faint">
              <Time at={last.slot} />
              {last.duration_ms !== null && `, took ${duration(last.duration_ms)}`}
              {last.lateness_ms !== null &&
                last.lateness_ms >= 1_000 &&
                `, ${duration(last.lateness_ms)} late`}
            </p>
          </>
        )}
      </Cell>
      <Cell className="tabular whitespace-nowrap">
        {stats?.duration_ms_p50 == null
          ? '–'
          : `${duration(stats.duration_ms_p50)} · ${duration(stats.duration_ms_p95 ?? 0)}`}
      </Cell>
      <Cell className={`tabular whitespace-nowrap ${(stats?.failed ?? 0) > 0 ? 'text-bad' : ''}`}>
        {stats === undefined ? '–' : shareText(failureShare(stats))}
        <span className="block text-xs text-ink-faint">
          {stats?.last_completed_at != null && (
            <>
              success <Time at={stats.last_completed_at} />
            </>
          )}
        </span>
      </Cell>
      <Cell className="whitespace-nowrap">
        <Time at={schedule.next_run_at} />
      </Cell>
    </tr>
  );
}

/** Whether it has come into sight. Of a hundred schedules a screen shows ten, and what the others did need not be read. */
function useSeen(element: RefObject<Element | null>): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || element.current === null) return;
    const watch = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    watch.observe(element.current);
    return () => watch.disconnect();
  }, [element, isSeen]);
  return isSeen;
}

/** What a person should see at once: paused, flagged, changed by hand, unreadable. */
function Signs({ schedule }: { schedule: Schedule }) {
  const signs: { icon: typeof Flag; text: string }[] = [];
  if (schedule.paused !== null)
    signs.push({
      icon: PauseCircle,
      text: `${schedule.status}${schedule.paused.note === null ? '' : `: ${schedule.paused.note}`}`,
    });
  else if (schedule.status !== 'active') signs.push({ icon: PauseCircle, text: schedule.status });
  if (schedule.flagged !== null)
    signs.push({ icon: Flag, text: `${schedule.flagged.failure_count} failures in a row` });
  if (schedule.drift !== null)
    signs.push({
      icon: CircleAlert,
      text:
        schedule.drift.kind === 'overridden'
          ? 'changed by hand, differs from the code'
          : 'no longer declared',
    });
  if (schedule.unreadable !== null) signs.push({ icon: CircleAlert, text: schedule.unreadable.message });
  return signs.map(({ icon: Icon, text }) => (
    <p key={text} className="mt-0.5 flex items-center gap-1 text-xs text-warn">
      <Icon aria-hidden className="size-3.5 shrink-0" />
      {text}
    </p>
  ));
}
