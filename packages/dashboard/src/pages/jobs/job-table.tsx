import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import type { Job } from '../../api/jobs.ts';
import { Time, Took } from '../../time/time.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { type Status, StatusBadge } from '../../ui/status.tsx';

const rowHeight = 44;
const columns =
  'grid grid-cols-[7rem_minmax(8rem,1.2fr)_minmax(0,2fr)_7rem_7rem] items-center gap-3 px-4 max-md:grid-cols-[7rem_minmax(0,1fr)_6rem]';

/** Jobs as rows. Only those in sight are in the page, however many there are. */
export function JobTable({ rows, hasMore, onMore }: { rows: Job[]; hasMore: boolean; onMore: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const items = virtual.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastIndex >= rows.length - 20) onMore();
  }, [hasMore, lastIndex, rows.length, onMore]);

  return (
    <>
      <div aria-hidden className={`${columns} h-9 border-b border-line text-xs font-medium text-ink-faint`}>
        <span>Status</span>
        <span>Task</span>
        <span className="max-md:hidden">Input</span>
        <span className="text-right max-md:hidden">Took</span>
        <span className="text-right">Made</span>
      </div>
      <div ref={list}>
        <ol aria-label="Jobs" className="relative" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <li
              key={item.key}
              className="absolute inset-x-0"
              style={{
                height: item.size,
                transform: `translateY(${item.start - virtual.options.scrollMargin}px)`,
              }}
            >
              <JobRow job={rows[item.index] as Job} />
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}

function JobRow({ job }: { job: Job }) {
  return (
    <div className={`${columns} relative h-11 border-b border-line hover:bg-raised`}>
      <span>
        <StatusBadge status={job.status as Status} />
      </span>
      <span className="min-w-0">
        <Link
          to="/jobs/$id"
          params={{ id: job.id }}
          className="block truncate font-medium after:absolute after:inset-0"
        >
          {job.type}
        </Link>
        {job.status === 'RUNNING' ? (
          <ProgressBar percent={job.progress} label={`Progress of ${job.type}`} />
        ) : (
          <span className="block truncate text-xs text-ink-faint">
            {job.error?.message ?? job.schedule ?? job.tenant ?? job.queue}
          </span>
        )}
      </span>
      <span className="truncate font-mono text-xs text-ink-soft max-md:hidden">
        {JSON.stringify(job.input)}
      </span>
      <span className="text-right text-sm max-md:hidden">
        <Took from={job.started_at} to={job.completed_at} />
      </span>
      <span className="text-right text-sm text-ink-soft">
        <Time at={job.created_at} />
      </span>
    </div>
  );
}
