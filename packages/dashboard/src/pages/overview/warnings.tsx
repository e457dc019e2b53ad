import { Link } from '@tanstack/react-router';
import { BellRing, PauseCircle, TriangleAlert } from 'lucide-react';
import { pauseName, type Queue, useAlerts, usePauses, useWorkers } from '../../api/operations.ts';
import { countText } from '../../api/page.ts';
import { Time, useNow } from '../../time/time.tsx';

/** Long enough for a worker that is just being started. */
const patienceMs = 10_000;

/** The alerts that fire, with the way to their rules. */
function Firing() {
  const alerts = useAlerts();
  return (alerts.data?.data ?? [])
    .filter(({ muted }) => !muted)
    .map(({ rule, subject, message, fired_at }) => (
      <p
        key={`${rule}/${subject}`}
        role="status"
        className="mb-2 flex items-start gap-2 rounded-lg border border-bad/40 bg-bad-soft px-3 py-2 text-sm text-bad"
      >
        <BellRing aria-hidden className="mt-0.5 size-4 shrink-0" />
        <span className="min-w-0 flex-1">{message}</span>
        <Time at={fired_at} className="shrink-0 text-xs" />
        <Link to="/alerts" className="shrink-0 text-xs underline">
          Alerts
        </Link>
      </p>
    ));
}

/** What somebody has paused: whoever wonders why nothing starts sees it first. */
function Paused() {
  const pauses = usePauses();
  return (pauses.data?.data ?? []).map((pause) => (
    <p
      key={pauseName(pause)}
      role="status"
      className="mb-2 flex items-start gap-2 rounded-lg border border-warn/40 bg-warn-soft px-3 py-2 text-sm text-warn"
    >
      <PauseCircle aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 flex-1">
        <span className="inline-block first-letter:uppercase">{pauseName(pause)}</span> is paused by{' '}
        {pause.by}
        {pause.note !== null && `: ${pause.note}`}
      </span>
      <Time at={pause.since_at} className="shrink-0 text-xs" />
      <Link to="/queues" className="shrink-0 text-xs underline">
        Queues
      </Link>
    </p>
  ));
}

/** Only what a person can do something about. */
export function Warnings({ queues }: { queues: readonly Queue[] }) {
  const workers = useWorkers();
  const now = useNow();
  if (workers.data === undefined)
    return (
      <>
        <Firing />
        <Paused />
      </>
    );
  const handled = new Set(
    workers.data.data.filter(({ silent }) => !silent).flatMap(({ tasks }) => tasks.map(({ type }) => type)),
  );
  const warnings = queues.flatMap(({ lanes }) =>
    lanes
      .filter(
        ({ type, oldest_due_at }) =>
          !handled.has(type) && oldest_due_at !== null && now - Date.parse(oldest_due_at) > patienceMs,
      )
      .map(
        ({ type, ready }) =>
          `No worker handles ${type}: ${countText(ready)} wait. Start one that defines the task.`,
      ),
  );
  for (const { host, pid, not_ready, roles } of workers.data.data) {
    if (not_ready !== null && roles.includes('worker'))
      warnings.push(`The worker on ${host} (pid ${pid}) takes no work: ${not_ready}`);
  }
  return (
    <>
      <Firing />
      <Paused />
      {warnings.map((text) => (
        <p
          key={text}
          role="status"
          className="mb-2 flex items-start gap-2 rounded-lg border border-warn/40 bg-warn-soft px-3 py-2 text-sm text-warn"
        >
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
          {text}
        </p>
      ))}
    </>
  );
}
