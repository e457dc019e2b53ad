import { Link } from '@tanstack/react-router';
import { useNewestJobs } from '../../api/jobs.ts';
import { usePausedList } from '../../live/paused-list.ts';
import { Took } from '../../time/time.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { QueryState } from '../../ui/states.tsx';
import { pausedRows } from '../jobs/paused-rows.ts';

/** What runs at this moment, with bars that move. */
export function RunningNow() {
  const jobs = useNewestJobs({ status: 'RUNNING' }, { limit: 8 });
  const paused = usePausedList(jobs.data);
  // The choice of rows is paused, their progress is not.
  const rows = paused.data === undefined ? undefined : pausedRows(paused.data.data, jobs.data?.data ?? []);
  return (
    <Panel title="Running now" {...paused.pointer}>
      {rows === undefined ? (
        <QueryState query={jobs} />
      ) : rows.length === 0 ? (
        <p className="px-4 py-6 text-center text-sm text-ink-faint">Nothing runs at this moment.</p>
      ) : (
        <ul className="divide-y divide-line">
          {rows.map((job) => (
            <li key={job.id} className="relative px-4 py-2.5 hover:bg-raised">
              <div className="mb-1.5 flex items-baseline justify-between gap-3 text-sm">
                <Link
                  to="/jobs/$id"
                  params={{ id: job.id }}
                  className="truncate font-medium after:absolute after:inset-0"
                >
                  {job.type}
                </Link>
                <span className="tabular flex max-w-2/3 shrink-0 gap-2 text-xs text-ink-soft">
                  {typeof job.metadata.current_step === 'string' && (
                    <span className="min-w-0 truncate" title={job.metadata.current_step}>
                      {job.metadata.current_step}
                    </span>
                  )}
                  <span className="shrink-0">
                    {Math.round(job.progress)} % · <Took from={job.started_at} to={null} />
                  </span>
                </span>
              </div>
              <ProgressBar percent={job.progress} label={`Progress of ${job.type}`} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
