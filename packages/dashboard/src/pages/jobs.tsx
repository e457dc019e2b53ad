import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowUp } from 'lucide-react';
import { useMemo, useState, useSyncExternalStore } from 'react';
import { useJobTotal } from '../api/jobs.ts';
import { type Count, countText } from '../api/page.ts';
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
  // Rows do not move under a pointer, nor while the reader pauses the page or has scrolled into it.
  const [isPointed, setPointed] = useState(false);
  const isScrolled = useIsScrolled();
  const jobs = useLiveRows(query, {
    isPaused: isPointed || isScrolled || live.state === 'paused',
    isBroken,
  });
  const counting = useJobTotal(query, { isPaused: isBroken });
  // A paused count would still be that of an earlier search with the same terms.
  const total = isBroken ? undefined : counting.data?.total;
  const search = (text: string) =>
    void navigate({ to: '.', search: text === '' ? {} : { q: text } } as never);

  return (
    <>
      <PageHead
        title="Jobs"
        about={aboutText({ isBroken, total, isSearch: q !== '' })}
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
      {/* The button is inside: a pointer that leaves this element resumes the rows, which removes the button. */}
      <div onPointerEnter={() => setPointed(true)} onPointerLeave={() => setPointed(false)}>
        {jobs.newCount > 0 && <ShowNewJobs count={jobs.newCount} onShow={jobs.showNew} />}
        <div className="mt-3 rounded-lg border border-line bg-surface">
          <FoundJobs jobs={jobs} text={q} isBroken={isBroken} onClear={() => search('')} />
        </div>
      </div>
    </>
  );
}

function aboutText(found: { isBroken: boolean; total: Count | undefined; isSearch: boolean }): string {
  if (found.isBroken) return 'The search cannot be read.';
  if (found.total === undefined) return 'Each job is one unit of work with one outcome.';
  return `${countText(found.total)} ${found.isSearch ? 'found' : 'stored'}`;
}

/** Floats over the rows while they are paused and new jobs exist. */
function ShowNewJobs({ count, onShow }: { count: number; onShow: () => void }) {
  return (
    <div className="sticky top-2 z-20 flex h-0 justify-center">
      <button
        type="button"
        onClick={() => {
          onShow();
          scrollTo({ top: 0 });
        }}
        className="mt-1 inline-flex h-7 items-center gap-1 rounded-full border border-accent/40 bg-accent-soft px-3 text-xs font-medium text-accent shadow-sm"
      >
        <ArrowUp aria-hidden className="size-3.5" />
        {count >= 100 ? '100+' : count} new
      </button>
    </div>
  );
}

/** The rows of a search, or why there are none. */
function FoundJobs({
  jobs: { rows, hasMore, readMore, error, retry },
  text,
  isBroken,
  onClear,
}: {
  jobs: ReturnType<typeof useLiveRows>;
  text: string;
  isBroken: boolean;
  onClear: () => void;
}) {
  const stats = useStats('24h').data?.data;
  const usual = useMemo(() => new Map(stats?.map((one) => [one.type, one])), [stats]);
  if (isBroken) return <Unreadable onClear={onClear} />;
  if (rows === undefined && error !== null) return <Trouble error={error} onRetry={retry} />;
  if (rows === undefined || (rows.length === 0 && hasMore)) return <Loading />;
  if (rows.length > 0) return <JobTable rows={rows} usual={usual} hasMore={hasMore} onMore={readMore} />;
  if (text !== '') return <FilteredAway what="jobs" onClear={onClear} />;
  return (
    <NothingYet
      title="No job was created yet."
      command={`curl -X POST ${location.origin}/api/jobs -H 'content-type: application/json' -H 'authorization: Bearer duly_…' -d '{"type":"hello"}'`}
    />
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
