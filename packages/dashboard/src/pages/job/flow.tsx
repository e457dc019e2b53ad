import { Link } from '@tanstack/react-router';
import { CornerDownRight } from 'lucide-react';
import { type Job, useChildren, useJob } from '../../api/jobs.ts';
import { Took } from '../../time/time.tsx';
import { Panel } from '../../ui/panel.tsx';
import { type Status, StatusBadge } from '../../ui/status.tsx';

/** The job in whose handler this one was made, this one, and those that it made: one below the other. */
export function Flow({ job }: { job: Job }) {
  const children = useChildren(job.id);
  const created = children.data?.data ?? [];
  if (job.parent_id === null && created.length === 0) return null;
  const ended = created.filter(({ completed_at }) => completed_at !== null).length;
  const self = job.parent_id === null ? 0 : 1;
  return (
    <Panel
      title="Flow"
      actions={
        created.length > 0 && (
          <span className="tabular text-xs text-ink-soft">
            {ended} of {created.length}
            {children.data?.has_more === true && '+'} children ended
          </span>
        )
      }
    >
      <ul className="py-1 text-sm">
        {job.parent_id !== null && <Parent id={job.parent_id} />}
        <Line job={job} depth={self} isSelf />
        {[...created].reverse().map((child) => (
          <Line key={child.id} job={child} depth={self + 1} />
        ))}
        {children.data?.has_more === true && (
          <li className="px-4 py-1.5" style={{ paddingLeft: `${1 + (self + 1) * 1.5}rem` }}>
            <Link to="/jobs" search={{ q: `parent:${job.id}` }} className="text-accent hover:underline">
              All of them
            </Link>
          </li>
        )}
      </ul>
    </Panel>
  );
}

function Parent({ id }: { id: string }) {
  const parent = useJob(id);
  if (parent.data !== undefined) return <Line job={parent.data} depth={0} />;
  return <li className="px-4 py-1.5 font-mono text-xs text-ink-faint">{id}</li>;
}

function Line({ job, depth, isSelf = false }: { job: Job; depth: number; isSelf?: boolean }) {
  return (
    <li
      aria-current={isSelf ? 'true' : undefined}
      className={`flex items-center gap-2 py-1.5 pr-4 ${isSelf ? 'bg-accent-soft' : ''}`}
      style={{ paddingLeft: `${1 + depth * 1.5}rem` }}
    >
      {depth > 0 && <CornerDownRight aria-hidden className="size-3.5 shrink-0 text-ink-faint" />}
      <StatusBadge status={job.status as Status} />
      {isSelf ? (
        <span className="truncate font-medium">{job.type}, this one</span>
      ) : (
        <Link to="/jobs/$id" params={{ id: job.id }} className="truncate font-medium hover:underline">
          {job.type}
        </Link>
      )}
      <span className="ml-auto shrink-0 text-xs text-ink-soft">
        <Took from={job.started_at} to={job.completed_at} />
      </span>
    </li>
  );
}
