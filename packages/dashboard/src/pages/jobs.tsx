import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useJobs } from '../api/jobs.ts';
import { countText } from '../api/page.ts';
import { useLive } from '../live/live.tsx';
import { readJobSearch } from '../search/job-search.ts';
import { useMay } from '../shell/caller.tsx';
import { Button } from '../ui/button.tsx';
import { PageHead } from '../ui/panel.tsx';
import { FilteredAway, Loading, NothingYet, Trouble } from '../ui/states.tsx';
import { BulkActions } from './jobs/bulk-actions.tsx';
import { JobSearchBar } from './jobs/job-search-bar.tsx';
import { JobTable } from './jobs/job-table.tsx';
import { NewJob } from './jobs/new-job.tsx';

/** All jobs, newest first, as the search in the address says. */
export function JobsPage() {
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const live = useLive();
  const may = useMay('run');
  const [isMaking, setMaking] = useState(false);
  const { query, problems } = useMemo(() => readJobSearch(q), [q]);
  // Rows do not move under a pointer, nor while the reader holds the page.
  const [isPointed, setPointed] = useState(false);
  const jobs = useJobs(query, { isHeld: problems.length > 0 });
  const search = (text: string) =>
    void navigate({ to: '.', search: text === '' ? {} : { q: text } } as never);
  const found = useMemo(() => jobs.data?.pages.flatMap(({ data }) => data), [jobs.data]);
  const rows = useHeld(found, (isPointed || live.state === 'paused') && !jobs.isPlaceholderData, q);
  const total = jobs.data?.pages[0]?.total;

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
      <div
        className="mt-3 rounded-lg border border-line bg-surface"
        onPointerEnter={() => setPointed(true)}
        onPointerLeave={() => setPointed(false)}
      >
        {jobs.isPending && problems.length === 0 ? (
          <Loading />
        ) : jobs.isError && rows === undefined ? (
          <Trouble error={jobs.error} onRetry={() => void jobs.refetch()} />
        ) : rows === undefined || rows.length === 0 ? (
          q === '' ? (
            <NothingYet
              title="No job was made yet."
              command={`curl -X POST ${location.origin}/api/jobs -H 'content-type: application/json' -H 'authorization: Bearer duly_…' -d '{"type":"hello"}'`}
            />
          ) : (
            <FilteredAway what="jobs" onClear={() => search('')} />
          )
        ) : (
          <JobTable
            rows={rows}
            hasMore={jobs.hasNextPage}
            onMore={() => !jobs.isFetchingNextPage && void jobs.fetchNextPage()}
          />
        )}
      </div>
    </>
  );
}

/** The rows as they were when the hold began; more of them may be added at the end. */
function useHeld<Row>(rows: Row[] | undefined, isHeld: boolean, search: string): Row[] | undefined {
  const [kept, setKept] = useState<{ rows: Row[] | undefined; search: string }>({ rows, search });
  const mayMove = !isHeld || kept.search !== search || (rows?.length ?? 0) > (kept.rows?.length ?? 0);
  if (mayMove && (kept.rows !== rows || kept.search !== search)) setKept({ rows, search });
  return mayMove ? rows : kept.rows;
}
