import { useParams } from '@tanstack/react-router';
import { type Schedule, useComing, useSchedule, useScheduleAction } from '../api/schedules.ts';
import { failureShare, shareText, useScheduleStats } from '../api/stats.ts';
import { useMay } from '../shell/caller.tsx';
import { duration, fullInstant } from '../time/format.ts';
import { Instant, Time } from '../time/time.tsx';
import { useZone } from '../time/zone.tsx';
import { Button } from '../ui/button.tsx';
import { counted } from '../ui/counted.ts';
import { JsonView } from '../ui/json-view.tsx';
import { Fact, PageHead, Panel } from '../ui/panel.tsx';
import { QueryState } from '../ui/states.tsx';
import { StatusBadge } from '../ui/status.tsx';
import { useToasts } from '../ui/toast.tsx';
import { Ledger } from './schedule/ledger.tsx';
import { LedgerCalendar } from './schedule/ledger-calendar.tsx';
import { ScheduleActions } from './schedule/schedule-actions.tsx';

/** Everything about one schedule. */
export function SchedulePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const schedule = useSchedule(id);
  if (schedule.data === undefined) return <QueryState isPage query={schedule} />;
  return <ScheduleView schedule={schedule.data} />;
}

function ScheduleView({ schedule }: { schedule: Schedule }) {
  const { last_run: last } = schedule;
  return (
    <>
      <PageHead
        title={schedule.name}
        about={`${schedule.words} Runs ${schedule.type}${schedule.tenant === null ? '' : ` for ${schedule.tenant}`}.`}
        actions={<ScheduleActions schedule={schedule} />}
      />
      {schedule.paused !== null && (
        <Panel className="mb-4 border-warn/40 px-4 py-3 text-sm">
          <strong className="capitalize">{schedule.status}</strong> since <Instant at={schedule.paused.at} />
          {schedule.paused.by !== null && ` by ${schedule.paused.by}`}
          {schedule.paused.until_at !== null && (
            <>
              , until <Instant at={schedule.paused.until_at} />
            </>
          )}
          {schedule.paused.note !== null && `: ${schedule.paused.note}`}
        </Panel>
      )}
      {schedule.drift !== null && <Drift schedule={schedule} drift={schedule.drift} />}
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[2fr_1fr]">
        <div className="min-w-0 space-y-4">
          <Figures schedule={schedule} />
          <LedgerCalendar schedule={schedule} />
          <Ledger schedule={schedule} />
          <Panel title="Input">
            <JsonView value={schedule.input} />
          </Panel>
        </div>
        <div className="space-y-4">
          <Panel title="Facts">
            <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3">
              <Fact name="Next run">
                <Time at={schedule.next_run_at} />
              </Fact>
              <Fact name="Last run">{last?.status == null ? '–' : <StatusBadge status={last.status} />}</Fact>
              <Fact name="It took">{last?.duration_ms == null ? '–' : duration(last.duration_ms)}</Fact>
              <Fact name="Late by">{last?.lateness_ms == null ? '–' : duration(last.lateness_ms)}</Fact>
              <Fact name="Fired">{counted(schedule.fired_count, 'time')}</Fact>
              <Fact name="Failures in a row">{schedule.failures_in_row}</Fact>
              <Fact name="Queue">{schedule.queue}</Fact>
              <Fact name="Declared by">{schedule.app ?? 'nobody: dynamic'}</Fact>
              <Fact name="Created">
                <Instant at={schedule.created_at} />
              </Fact>
              {schedule.note !== null && <Fact name="Note">{schedule.note}</Fact>}
            </dl>
          </Panel>
          <Coming schedule={schedule} />
          <Panel title="Policies">
            <dl className="grid grid-cols-2 gap-x-4 gap-y-2 px-4 py-3">
              {Object.entries(schedule.policies)
                .filter(([, value]) => value !== null && typeof value !== 'object')
                .map(([name, value]) => (
                  <Fact key={name} name={name.replaceAll('_', ' ')}>
                    {name.endsWith('_ms') && typeof value === 'number' ? duration(value) : String(value)}
                  </Fact>
                ))}
            </dl>
          </Panel>
        </div>
      </div>
    </>
  );
}

/** How its last runs did. */
function Figures({ schedule }: { schedule: Schedule }) {
  const stats = useScheduleStats(schedule.id);
  const one = stats.data?.data[0];
  const count = one === undefined ? 0 : one.completed + one.failed + one.cancelled + one.expired;
  if (one === undefined || count === 0) return null;
  const ms = (value: number | null) => (value === null ? '–' : duration(value));
  return (
    <Panel title={count === 1 ? 'The last run' : `The last ${count} runs`}>
      <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3 sm:grid-cols-5">
        <Fact name="Took, p50">{ms(one.duration_ms_p50)}</Fact>
        <Fact name="Took, p95">{ms(one.duration_ms_p95)}</Fact>
        <Fact name="Failure rate">{shareText(failureShare(one))}</Fact>
        <Fact name="Late, p95">{ms(one.wait_ms_p95)}</Fact>
        <Fact name="Last success">
          <Time at={one.last_completed_at} />
        </Fact>
      </dl>
    </Panel>
  );
}

/** What comes next, in the schedule's zone and in the reader's. */
function Coming({ schedule }: { schedule: Schedule }) {
  const coming = useComing(schedule.id, 8);
  const { name } = useZone();
  if (coming.data === undefined || coming.data.data.length === 0) return null;
  return (
    <Panel title="Next runs">
      <ol className="divide-y divide-line text-sm">
        {coming.data.data.map(({ slot, gap, repeat }) => (
          <li key={slot} className="px-4 py-1.5">
            <span className="tabular">{fullInstant(Date.parse(slot), schedule.timezone)}</span>
            {schedule.timezone !== name && (
              <span className="block text-xs text-ink-faint">{fullInstant(Date.parse(slot), name)}</span>
            )}
            {gap !== null && (
              <span className="block text-xs text-warn">{gap.time} does not exist that day</span>
            )}
            {repeat !== null && <span className="block text-xs text-warn">happens twice: the {repeat}</span>}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Where what stands differs from the code. */
function Drift({ schedule, drift }: { schedule: Schedule; drift: NonNullable<Schedule['drift']> }) {
  const may = useMay('operate');
  const revert = useScheduleAction(schedule.id, 'revert');
  const toasts = useToasts();
  return (
    <Panel
      className="mb-4 border-warn/40"
      title={
        drift.kind === 'overridden'
          ? 'Changed by hand: differs from the code'
          : 'No longer declared by the code'
      }
      actions={
        may &&
        drift.kind === 'overridden' && (
          <Button disabled={revert.isPending} onClick={() => revert.mutate({}, { onError: toasts.complain })}>
            Back to the code
          </Button>
        )
      }
    >
      <ul className="px-4 py-3 text-sm">
        {drift.fields.map(({ field, declared, stands }) => (
          <li key={field}>
            <strong>{field}</strong>: the code says{' '}
            <code className="font-mono">{JSON.stringify(declared)}</code>, it is{' '}
            <code className="font-mono">{JSON.stringify(stands)}</code>
          </li>
        ))}
        {drift.note !== null && <li className="text-ink-soft">{drift.note}</li>}
      </ul>
    </Panel>
  );
}
