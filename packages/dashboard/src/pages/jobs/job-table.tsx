import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { inputText, type Job } from '../../api/jobs.ts';
import type { TypeStats } from '../../api/stats.ts';
import { duration } from '../../time/format.ts';
import { Time, Took, useNow } from '../../time/time.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { type Status, StatusBadge } from '../../ui/status.tsx';

const rowHeight = 44;
const columns =
  'grid grid-cols-[7rem_minmax(8rem,1.2fr)_minmax(0,2fr)_9rem_6rem] items-center gap-3 px-4 max-md:grid-cols-[7rem_minmax(0,1fr)_6rem]';

/** Jobs as rows. Only those in sight are in the page, however many there are. */
export function JobTable({
  rows,
  usual,
  hasMore,
  onMore,
}: {
  rows: Job[];
  /** What is usual, by type. */
  usual: ReadonlyMap<string, TypeStats>;
  hasMore: boolean;
  onMore: () => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const [marginTop, setMarginTop] = useState(0);
  useLayoutEffect(() => {
    // What stands above the list may come and go.
    const top = Math.round((list.current?.getBoundingClientRect().top ?? 0) + scrollY);
    if (top !== marginTop) setMarginTop(top);
  });
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: marginTop,
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
        <span>Type</span>
        <span className="max-md:hidden">Input</span>
        <span className="text-right max-md:hidden">Took · usually</span>
        <span className="text-right">Created</span>
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
              <JobRow job={rows[item.index] as Job} usual={usual.get((rows[item.index] as Job).type)} />
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}

function JobRow({ job, usual }: { job: Job; usual: TypeStats | undefined }) {
  return (
    <div className={`${columns} relative h-full border-b border-line hover:bg-raised`}>
      <span>
        <StatusBadge status={job.status as Status} />
      </span>
      <span className="min-w-0">
        <Link
          to="/jobs/$id"
          params={{ id: job.id }}
          className="block truncate text-sm font-medium after:absolute after:inset-0"
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
      <span className="truncate font-mono text-xs text-ink-soft max-md:hidden">{inputText(job.input)}</span>
      <span className="text-right text-sm max-md:hidden">
        <Took from={job.started_at} to={job.completed_at} />
        <Usual job={job} usual={usual} />
      </span>
      <span className="text-right text-sm text-ink-soft">
        <Time at={job.created_at} />
      </span>
    </div>
  );
}

/** How long jobs of this type usually take, and a word if this one takes far longer. */
function Usual({ job, usual }: { job: Job; usual: TypeStats | undefined }) {
  const now = useNow();
  if (usual === undefined || usual.duration_ms_p50 === null || job.started_at === null) return null;
  const tookMs =
    (job.completed_at === null ? now : Date.parse(job.completed_at)) - Date.parse(job.started_at);
  const isSlow = tookMs > 1_000 && tookMs > 2 * (usual.duration_ms_p95 ?? usual.duration_ms_p50);
  return (
    <span className={`tabular block text-xs ${isSlow ? 'text-warn' : 'text-ink-faint'}`}>
      {isSlow && 'slow, '}usually {duration(usual.duration_ms_p50)}
    </span>
  );
}
