import { Link } from '@tanstack/react-router';
import { useQueues } from '../api/operations.ts';
import { countText } from '../api/page.ts';
import { OverTime } from '../charts/over-time.tsx';
import { PageHead } from '../ui/panel.tsx';
import { Loading, Trouble } from '../ui/states.tsx';
import { looks, statuses } from '../ui/status.tsx';
import { ByTask } from './overview/by-task.tsx';
import { DueNext } from './overview/due-next.tsx';
import { RunningNow } from './overview/running-now.tsx';
import { Warnings } from './overview/warnings.tsx';
import { WentWrong } from './overview/went-wrong.tsx';

/** All promises at a glance. */
export function OverviewPage() {
  const queues = useQueues();
  if (queues.isPending) return <Loading />;
  if (queues.data === undefined)
    return <Trouble error={queues.error} onRetry={() => void queues.refetch()} />;
  const { status } = queues.data;
  return (
    <>
      <PageHead title="Overview" />
      <Warnings queues={queues.data.data} />
      <ul className="mb-4 grid grid-cols-3 gap-2 sm:grid-cols-5 lg:grid-cols-9">
        {statuses.map((name) => {
          const { icon: Icon, word, className } = looks[name];
          return (
            <li key={name}>
              <Link
                to="/jobs"
                search={{ q: `status:${name.toLowerCase()}` }}
                className="block rounded-lg border border-line bg-surface px-3 py-2.5 hover:border-line-strong"
              >
                <span className={`inline-flex items-center gap-1 rounded-full px-1.5 text-xs ${className}`}>
                  <Icon aria-hidden className="size-3.5" />
                  {word}
                </span>
                <span className="tabular mt-1 block text-xl font-semibold">{countText(status[name])}</span>
              </Link>
            </li>
          );
        })}
      </ul>
      <OverTime />
      <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
        <RunningNow />
        <DueNext />
        <WentWrong />
        <ByTask />
      </div>
    </>
  );
}
