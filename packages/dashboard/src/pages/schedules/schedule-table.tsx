import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { CircleAlert, Flag, PauseCircle } from 'lucide-react';
import { type Ref, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Page } from '../../api/page.ts';
import { type Schedule, useLastSlots } from '../../api/schedules.ts';
import { failureShare, type ScheduleStats, shareText, useStatsOfPages } from '../../api/stats.ts';
import { SlotStrip } from '../../charts/slot-strip.tsx';
import { duration } from '../../time/format.ts';
import { Time } from '../../time/time.tsx';
import { StatusBadge } from '../../ui/status.tsx';
import { Cell, Table } from '../../ui/table.tsx';

const rowHeight = 64;

/** Schedules as rows. Only those in sight are in the page, and only of them is read what they did. */
export function ScheduleTable({
  pages,
  hasMore,
  onMore,
}: {
  pages: readonly Page<Schedule>[];
  hasMore: boolean;
  onMore: () => void;
}) {
  const rows = pages.flatMap(({ data }) => data);
  const top = useRef<HTMLDivElement>(null);
  const [marginTop, setMarginTop] = useState(0);
  useLayoutEffect(() => {
    const at = Math.round((top.current?.getBoundingClientRect().top ?? 0) + scrollY);
    if (at !== marginTop) setMarginTop(at);
  });
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    getItemKey: (at) => rows[at]?.id ?? at,
    overscan: 6,
    scrollMargin: marginTop,
  });
  const items = virtual.getVirtualItems();
  const first = items[0];
  const last = items.at(-1);
  const isNearEnd = hasMore && (last?.index ?? 0) >= rows.length - 20;
  useEffect(() => {
    if (isNearEnd) onMore();
  });
  const seen = new Set(items.map(({ index }) => rows[index]?.id));
  const stats = useStatsOfPages(
    pages.map(({ data }) => data.map(({ id }) => id)).filter((ids) => ids.some((id) => seen.has(id))),
  );
  const above = (first?.start ?? marginTop) - marginTop;
  const below = virtual.getTotalSize() - ((last?.end ?? marginTop) - marginTop);
  return (
    <div ref={top}>
      <Table
        label="Schedules"
        head={['Schedule', 'Rule', 'Last slots', 'Last run', 'Usually', 'Next run']}
        widths={['20%', '23%', '18%', '15%', '14%', '10%']}
      >
        <Space height={above} />
        {items.map(({ index, key }) => {
          const schedule = rows[index] as Schedule;
          return (
            <ScheduleRow
              key={key}
              index={index}
              ref={virtual.measureElement}
              schedule={schedule}
              stats={stats.get(schedule.id)}
            />
          );
        })}
        <Space height={below} />
      </Table>
    </div>
  );
}

/** The place of the rows that are not in the page. */
function Space({ height }: { height: number }) {
  return height <= 0 ? null : <tr aria-hidden className="border-0! p-0!" style={{ height }} />;
}

function ScheduleRow({
  schedule,
  stats,
  index,
  ref,
}: {
  schedule: Schedule;
  stats: ScheduleStats | undefined;
  index: number;
  ref: Ref<HTMLTableRowElement>;
}) {
  const slots = useLastSlots(schedule.id);
  const { last_run: last } = schedule;
  return (
    <tr ref={ref} data-index={index}>
      <Cell isLong>
        <Link to="/schedules/$id" params={{ id: schedule.id }} className="font-medium hover:underline">
          {schedule.name}
        </Link>
        <p className="text-xs text-ink-faint">
          {schedule.type}
          {schedule.tenant !== null && ` for ${schedule.tenant}`}
        </p>
        <Signs schedule={schedule} />
      </Cell>
      <Cell isLong>{schedule.words}</Cell>
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
      <Cell>
        {stats === undefined ? <span className="text-ink-faint">–</span> : <Usually stats={stats} />}
      </Cell>
      <Cell>
        <Time at={schedule.next_run_at} />
      </Cell>
    </tr>
  );
}

/** How its last runs did. */
function Usually({ stats }: { stats: ScheduleStats }) {
  const share = failureShare(stats);
  if (share === null) return <span className="text-ink-faint">–</span>;
  return (
    <>
      {stats.duration_ms_p50 !== null && (
        <p className="tabular" title="How long half of its runs take, and 95 of a hundred">
          {duration(stats.duration_ms_p50)} · {duration(stats.duration_ms_p95 ?? 0)}
        </p>
      )}
      <p className={`text-xs ${share > 0 ? 'text-bad' : 'text-ink-faint'}`}>{shareText(share)} failed</p>
      {stats.last_completed_at !== null && (
        <p className="text-xs text-ink-faint">
          success <Time at={stats.last_completed_at} />
        </p>
      )}
    </>
  );
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
    <p key={text} className="mt-0.5 flex items-start gap-1 text-xs text-warn">
      <Icon aria-hidden className="size-3.5 shrink-0" />
      <span className="line-clamp-2" title={text}>
        {text}
      </span>
    </p>
  ));
}
