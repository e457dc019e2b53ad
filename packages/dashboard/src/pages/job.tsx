import { isTerminal } from '@duly/core/internal/browser';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Job, useJob, useJobAction, useWhy } from '../api/jobs.ts';
import { useMay } from '../shell/caller.tsx';
import { duration } from '../time/format.ts';
import { Instant, Time, Took } from '../time/time.tsx';
import { AskButton } from '../ui/ask-button.tsx';
import { Button } from '../ui/button.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Fact, PageHead, Panel } from '../ui/panel.tsx';
import { ProgressBar } from '../ui/progress-bar.tsx';
import { QueryState } from '../ui/states.tsx';
import { type Status, StatusBadge, statusStyle } from '../ui/status.tsx';
import { useToasts } from '../ui/toast.tsx';
import { Attempts } from './job/attempts.tsx';
import { ErrorView } from './job/error-view.tsx';
import { Flow } from './job/flow.tsx';
import { LogLines } from './job/log-lines.tsx';
import { RunAgain } from './job/run-again.tsx';

/** Everything about one job. */
export function JobPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const job = useJob(id);
  if (job.data === undefined) return <QueryState isPage query={job} />;
  return <JobView job={job.data} />;
}

function JobView({ job }: { job: Job }) {
  const why = useWhy(job.id);
  const { current_step, steps_completed, steps_total, ...own } = job.metadata;
  const isEnded = isTerminal(job.status);
  return (
    <>
      <PageHead
        title={
          <span className="flex flex-wrap items-center gap-3">
            {job.type} <StatusBadge status={job.status as Status} />
          </span>
        }
        name={`${job.status === 'RUNNING' ? `${Math.round(job.progress)} %` : statusStyle[job.status as Status].word} · ${job.type}`}
        about={<span className="font-mono text-xs break-all">{job.id}</span>}
        actions={<Actions job={job} />}
      />
      {!isEnded && (
        <Panel className="mb-4 px-4 py-3">
          <div className="mb-2 flex flex-wrap items-baseline justify-between gap-2 text-sm">
            <span className="font-medium">
              {typeof current_step === 'string'
                ? current_step
                : job.status === 'RUNNING'
                  ? 'Running'
                  : 'Not running'}
            </span>
            <span className="tabular text-ink-soft">
              {typeof steps_total === 'number' && (
                <>
                  step {String(steps_completed ?? 0)} of {steps_total} ·{' '}
                </>
              )}
              {Math.round(job.progress)} %
            </span>
          </div>
          <ProgressBar percent={job.progress} />
        </Panel>
      )}
      <Panel title="Why" className="mb-4">
        <p className="px-4 py-3 text-sm">{why.data?.sentence ?? '…'}</p>
      </Panel>
      {job.error !== null && (
        <Panel title="Error" className="mb-4">
          <ErrorView error={job.error} />
        </Panel>
      )}
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[2fr_1fr]">
        <div className="min-w-0 space-y-4">
          <Panel title="Input">
            <JsonView value={job.input} />
          </Panel>
          {job.result !== null && (
            <Panel title="Result">
              <JsonView value={job.result} />
            </Panel>
          )}
          {Object.keys(own).length > 0 && (
            <Panel title="Metadata">
              <JsonView value={own} />
            </Panel>
          )}
          <Flow job={job} />
          <Attempts job={job} />
          <LogLines id={job.id} />
        </div>
        <Facts job={job} />
      </div>
    </>
  );
}

/** The stored fields that need no more than their value. */
const moreFacts: [name: string, of: (job: Job) => ReactNode][] = [
  // {{job.passive +json -copyOf | ['%label', (job) => %fact],}}
  // {{/job}}
];

function Facts({ job }: { job: Job }) {
  return (
    <Panel title="Facts" className="h-fit">
      <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3">
        <Fact name="Created">
          <Instant at={job.created_at} />
        </Fact>
        <Fact name="Due">
          <Instant at={job.due_at} />
        </Fact>
        <Fact name="Started">
          <Instant at={job.started_at} />
        </Fact>
        <Fact name="Ended">
          <Instant at={job.completed_at} />
        </Fact>
        <Fact name="Took">
          <Took from={job.started_at} to={job.completed_at} />
        </Fact>
        <Fact name="Late by">{job.lateness_ms === null ? '–' : duration(job.lateness_ms)}</Fact>
        <Fact name="Attempts">
          {job.attempts} of {job.max_attempts}
          {job.losses > 0 && `, ${job.losses} lost`}
        </Fact>
        {job.next_attempt_at !== null && (
          <Fact name="Next attempt">
            <Time at={job.next_attempt_at} />
          </Fact>
        )}
        {job.expire_at !== null && (
          <Fact name="Must start by">
            <Instant at={job.expire_at} />
          </Fact>
        )}
        {job.cancelled_by !== null && <Fact name="Cancelled by">{job.cancelled_by}</Fact>}
        <Fact name="Queue">{job.queue}</Fact>
        <Fact name="Priority">{job.priority}</Fact>
        <Fact name="Origin">{job.origin}</Fact>
        {job.tenant !== null && <Fact name="Tenant">{job.tenant}</Fact>}
        {job.key !== null && <Fact name="Key">{job.key}</Fact>}
        {job.serial !== null && <Fact name="Serial">{job.serial}</Fact>}
        {job.node !== null && <Fact name="Node">{job.node}</Fact>}
        {job.schedule !== null && (
          <Fact name="Schedule">
            {/* A name may be that of several, of different tenants; the mark of its slot begins with the id. */}
            <Link
              to="/schedules/$id"
              params={{ id: job.fire_id?.split('/')[0] ?? job.schedule }}
              className="text-accent hover:underline"
            >
              {job.schedule}
            </Link>
          </Fact>
        )}
        {job.slot !== null && (
          <Fact name="Slot">
            <Instant at={job.slot} />
          </Fact>
        )}
        {job.parent_id !== null && (
          <Fact name="Created by">
            <JobLink id={job.parent_id} />
          </Fact>
        )}
        {job.copy_of !== null && (
          <Fact name="Copy of">
            <JobLink id={job.copy_of} />
          </Fact>
        )}
        {moreFacts.map(([name, of]) => {
          const fact = of(job);
          return fact !== null && <Fact name={name}>{fact}</Fact>;
        })}
      </dl>
    </Panel>
  );
}

function JobLink({ id }: { id: string }) {
  return (
    <Link to="/jobs/$id" params={{ id }} className="font-mono text-xs break-all text-accent hover:underline">
      {id}
    </Link>
  );
}

function Actions({ job }: { job: Job }) {
  const mayOperate = useMay('operate');
  const mayRun = useMay('run');
  const cancel = useJobAction(job.id, 'cancel');
  const retry = useJobAction(job.id, 'retry');
  const toasts = useToasts();
  const navigate = useNavigate();
  const open = (id: string) => void navigate({ to: '/jobs/$id', params: { id } });
  const canRetry = ['FAILED', 'CANCELLED', 'EXPIRED'].includes(job.status);
  const canCancel = !isTerminal(job.status);
  const stop = () =>
    cancel.mutate(
      {},
      {
        onSuccess: () => toasts.say(job.status === 'RUNNING' ? 'It was asked to stop.' : 'It is cancelled.'),
        onError: toasts.complain,
      },
    );
  return (
    <>
      {mayRun && <RunAgain job={job} onCreated={open} />}
      {mayOperate && canRetry && (
        <Button
          kind="primary"
          disabled={retry.isPending}
          onClick={() =>
            retry.mutate(
              {},
              { onSuccess: () => toasts.say('It waits to run again.'), onError: toasts.complain },
            )
          }
        >
          Retry
        </Button>
      )}
      {mayRun &&
        canCancel &&
        (job.status === 'RUNNING' && job.cancel_requested_at === null ? (
          <AskButton
            kind="danger"
            verb="Cancel"
            title={`Cancel this ${job.type}?`}
            isPending={cancel.isPending}
            onAct={stop}
          >
            <p>
              It has run for <Took from={job.started_at} to={null} /> and is at {Math.round(job.progress)} %.
              It is asked to stop; what it did already is not undone.
            </p>
          </AskButton>
        ) : (
          <Button
            kind="danger"
            disabled={cancel.isPending || job.cancel_requested_at !== null}
            onClick={stop}
          >
            {job.cancel_requested_at === null ? 'Cancel' : 'Asked to stop'}
          </Button>
        ))}
    </>
  );
}
