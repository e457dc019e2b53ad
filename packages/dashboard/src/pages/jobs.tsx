import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowUp } from 'lucide-react';
import { useMemo, useState, useSyncExternalStore } from 'react';
import { useJobTotal } from '../api/jobs.ts';
import { useTasks } from '../api/operations.ts';
import { countText } from '../api/page.ts';
import { useStats } from '../api/stats.ts';
import { useLive } from '../live/live.tsx';
import { readJobSearch, searchFor } from '../search/job-search.ts';
import { useMay } from '../shell/caller.tsx';
import { Button } from '../ui/button.tsx';
import { PageHead } from '../ui/panel.tsx';
import { FilteredAway, Loading, NothingYet, Trouble } from '../ui/states.tsx';
import { BulkActions } from './jobs/bulk-actions.tsx';
import { JobSearchBar } from './jobs/job-search-bar.tsx';
import { JobTable } from './jobs/job-table.tsx';
import { useLiveRows } from './jobs/live-rows.ts';
import { NewJob } from './jobs/new-job.tsx';

/** All jobs, newest first, as the search in the address says. */
export function JobsPage() {
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const live = useLive();
  const may = useMay('run');
  const [isMaking, setMaking] = useState(false);
  const { query, problems } = useMemo(() => readJobSearch(q), [q]);
  // Rows do not move under a pointer, nor while the reader holds the page or has scrolled into it.
  const [isPointed, setPointed] = useState(false);
  const isScrolled = useIsScrolled();
  const jobs = useLiveRows(query, {
    isHeld: isPointed || isScrolled || live.state === 'paused',
    isBroken: problems.length > 0,
  });
  const { rows, newCount } = jobs;
  const total = useJobTotal(query, { isHeld: problems.length > 0 }).data?.total;
  const stats = useStats('24h');
  const usual = useMemo(() => new Map(stats.data?.data.map((one) => [one.type, one])), [stats.data]);
  const search = (text: string) =>
    void navigate({ to: '.', search: text === '' ? {} : { q: text } } as never);

  return (
    <>
      <PageHead
        title="Jobs"
        about={
          total === undefined
            ? 'One promise each: to run a task once.'
            : `${countText(total)} ${q === '' ? 'kept' : 'found'}`
        }
        actions={
          <>
            <BulkActions search={q} total={total} />
            {may && (
              <Button kind="primary" onClick={() => setMaking(true)}>
                New job
              </Button>
            )}
          </>
        }
      />
      {isMaking && <NewJob onClose={() => setMaking(false)} />}
      <JobSearchBar text={q} problems={problems} onSearch={search} />
      {/* The button is a part of what is pointed at: else it would be gone when the pointer comes to it. */}
      <div onPointerEnter={() => setPointed(true)} onPointerLeave={() => setPointed(false)}>
        {newCount > 0 && (
          <div className="sticky top-2 z-20 flex h-0 justify-center">
            <button
              type="button"
              onClick={() => {
                jobs.showNew();
                scrollTo({ top: 0 });
              }}
              className="mt-1 inline-flex h-7 items-center gap-1 rounded-full border border-accent/40 bg-accent-soft px-3 text-xs font-medium text-accent shadow-sm"
            >
              <ArrowUp aria-hidden className="size-3.5" />
              {newCount >= 100 ? '100+' : newCount} new
            </button>
          </div>
        )}
        <div className="mt-3 rounded-lg border border-line bg-surface">
          {jobs.error !== null && rows === undefined ? (
            <Trouble error={jobs.error} onRetry={jobs.retry} />
          ) : problems.length === 0 && (rows === undefined || (rows.length === 0 && jobs.hasMore)) ? (
            <Loading />
          ) : rows === undefined || rows.length === 0 ? (
            q === '' ? (
              <NothingYet
                title="No job was made yet."
                command={`curl -X POST ${location.origin}/api/jobs -H 'content-type: application/json' -H 'authorization: Bearer duly_…' -d '{"type":"hello"}'`}
              />
            ) : (
              <FilteredAway what="jobs" onClear={() => search('')}>
                <TaskMeant text={q} onSearch={search} />
              </FilteredAway>
            )
          ) : (
            <JobTable rows={rows} usual={usual} hasMore={jobs.hasMore} onMore={jobs.readMore} />
          )}
        </div>
      </div>
    </>
  );
}

/** A word alone is a part of an error; whoever typed the name of a task meant its jobs. */
function TaskMeant({ text, onSearch }: { text: string; onSearch: (text: string) => void }) {
  const tasks = useTasks().data?.data ?? [];
  const asked = text.trim().toLowerCase();
  const meant = tasks.map(({ type }) => type).filter((type) => type.toLowerCase().includes(asked));
  return meant.slice(0, 3).map((type) => (
    <Button key={type} kind="primary" className="mt-2 mr-2" onClick={() => onSearch(searchFor({ type }))}>
      Jobs of the task {type}
    </Button>
  ));
}

/** Whether the reader has left the top of the page. */
function useIsScrolled(): boolean {
  return useSyncExternalStore(
    (listener) => {
      addEventListener('scroll', listener, { passive: true });
      return () => removeEventListener('scroll', listener);
    },
    () => scrollY > 120,
  );
}
