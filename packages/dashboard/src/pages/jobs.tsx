import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowUp } from 'lucide-react';
import { useMemo, useState, useSyncExternalStore } from 'react';
import { useJobTotal } from '../api/jobs.ts';
import { countText } from '../api/page.ts';
import { useStats } from '../api/stats.ts';
import { useLive } from '../live/live.tsx';
import { readJobSearch } from '../search/job-search.ts';
import { useMay } from '../shell/caller.tsx';
import { Button } from '../ui/button.tsx';
import { PageHead } from '../ui/panel.tsx';
import { FilteredAway, Loading, NothingYet, Trouble, Unreadable } from '../ui/states.tsx';
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
  const [isCreating, setCreating] = useState(false);
  const read = useMemo(() => readJobSearch(q), [q]);
  const { query, problems } = read;
  const isBroken = problems.length > 0;
  const [isEdited, setEdited] = useState(false);
  // Rows do not move under a pointer, nor while the reader holds the page or has scrolled into it.
  const [isPointed, setPointed] = useState(false);
  const isScrolled = useIsScrolled();
  const jobs = useLiveRows(query, {
    isPaused: isPointed || isScrolled || live.state === 'paused',
    isBroken,
  });
  const { rows, newCount } = jobs;
  const counting = useJobTotal(query, { isPaused: isBroken });
  // Held, it would still give the count of an earlier search with the same terms.
  const total = isBroken ? undefined : counting.data?.total;
  const stats = useStats('24h');
  const usual = useMemo(() => new Map(stats.data?.data.map((one) => [one.type, one])), [stats.data]);
  const search = (text: string) =>
    void navigate({ to: '.', search: text === '' ? {} : { q: text } } as never);

  return (
    <>
      <PageHead
        title="Jobs"
        about={
          isBroken
            ? 'The search cannot be read.'
            : total === undefined
              ? 'Each job is one unit of work with one outcome.'
              : `${countText(total)} ${q === '' ? 'stored' : 'found'}`
        }
        actions={
          <>
            {/* Another search closes the dialog of this one. */}
            <BulkActions key={q} search={read} total={total} isEdited={isEdited} />
            {may && (
              <Button kind="primary" onClick={() => setCreating(true)}>
                New job
              </Button>
            )}
          </>
        }
      />
      {isCreating && <NewJob onClose={() => setCreating(false)} />}
      <JobSearchBar text={q} problems={problems} hint={read.hint} onSearch={search} onEdited={setEdited} />
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
          {isBroken ? (
            <Unreadable onClear={() => search('')} />
          ) : jobs.error !== null && rows === undefined ? (
            <Trouble error={jobs.error} onRetry={jobs.retry} />
          ) : rows === undefined || (rows.length === 0 && jobs.hasMore) ? (
            <Loading />
          ) : rows.length === 0 ? (
            q === '' ? (
              <NothingYet
                title="No job was created yet."
                command={`curl -X POST ${location.origin}/api/jobs -H 'content-type: application/json' -H 'authorization: Bearer duly_…' -d '{"type":"hello"}'`}
              />
            ) : (
              <FilteredAway what="jobs" onClear={() => search('')} />
            )
          ) : (
            <JobTable rows={rows} usual={usual} hasMore={jobs.hasMore} onMore={jobs.readMore} />
          )}
        </div>
      </div>
    </>
  );
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
