import { type Job, useAttempts } from '../../api/jobs.ts';
import { Time, Took } from '../../time/time.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ErrorView } from './error-view.tsx';

/** Each execution: by whom, how long, how it ended. */
export function Attempts({ job }: { job: Job }) {
  const attempts = useAttempts(job.id);
  const rows = attempts.data?.data ?? [];
  if (rows.length === 0) return null;
  return (
    <Panel title="Attempts">
      <ol className="divide-y divide-line">
        {[...rows].reverse().map((attempt) => (
          <li key={attempt.n} className="px-4 py-3">
            <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm">
              <span className="font-medium">Attempt {attempt.n}</span>
              <span className="text-ink-soft">{attempt.reason ?? 'running'}</span>
              <span className="text-ink-soft">
                <Took from={attempt.started_at} to={attempt.ended_at} />
              </span>
              <span className="truncate font-mono text-xs text-ink-faint">{attempt.node}</span>
              <Time at={attempt.started_at} className="ml-auto text-xs text-ink-faint" />
            </div>
            {attempt.error !== null && <ErrorView error={attempt.error} />}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
