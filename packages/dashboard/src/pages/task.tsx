import { Link, useParams } from '@tanstack/react-router';
import { usePauses } from '../api/operations.ts';
import { failureShare, shareText, useStats } from '../api/stats.ts';
import { OverTime } from '../charts/over-time.tsx';
import { searchFor } from '../search/job-search.ts';
import { duration } from '../time/format.ts';
import { Time } from '../time/time.tsx';
import { Fact, PageHead, Panel } from '../ui/panel.tsx';
import { PauseSwitch } from '../ui/pause-switch.tsx';
import { QueryState } from '../ui/states.tsx';

/** How the jobs of one task do. */
export function TaskPage() {
  const { type } = useParams({ strict: false }) as { type: string };
  const stats = useStats('7d');
  const pauses = usePauses().data?.data ?? [];
  const pause = pauses.find(({ scope, name }) => scope === 'type' && name === type) ?? null;
  if (stats.data === undefined) return <QueryState isPage query={stats} />;
  const one = stats.data.data.find((other) => other.type === type);
  const ms = (value: number | null | undefined) => (value == null ? '–' : duration(value));
  const jobs = (terms: Record<string, string>, text: string) => (
    <Link
      to="/jobs"
      search={{ q: searchFor({ type, ...terms }) }}
      className="text-sm text-accent hover:underline"
    >
      {text}
    </Link>
  );
  return (
    <>
      <PageHead
        title={type}
        about="A task: what its jobs do is in the code that defines it."
        actions={
          <span className="flex flex-wrap items-center gap-4">
            {jobs({}, 'All its jobs')}
            {jobs({ status: 'running' }, 'Running')}
            {jobs({ status: 'failed' }, 'Failed')}
            <PauseSwitch target={{ type }} name={type} pause={pause} />
          </span>
        }
      />
      {pause !== null && (
        <Panel className="mb-4 border-warn/40 px-4 py-3 text-sm">
          <strong>Paused</strong> by {pause.by} <Time at={pause.since_at} />
          {pause.note !== null && `: ${pause.note}`}
        </Panel>
      )}
      <Panel title="The last 7 days" className="mb-4">
        <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3 sm:grid-cols-4 lg:grid-cols-8">
          <Fact name="Completed">{(one?.completed ?? 0).toLocaleString('en')}</Fact>
          <Fact name="Failed">{(one?.failed ?? 0).toLocaleString('en')}</Fact>
          <Fact name="Failure rate">{shareText(one === undefined ? null : failureShare(one))}</Fact>
          <Fact name="Took, p50">{ms(one?.duration_ms_p50)}</Fact>
          <Fact name="Took, p95">{ms(one?.duration_ms_p95)}</Fact>
          <Fact name="Waited, p50">{ms(one?.wait_ms_p50)}</Fact>
          <Fact name="Waited, p95">{ms(one?.wait_ms_p95)}</Fact>
          <Fact name="Last success">
            <Time at={one?.last_completed_at} />
          </Fact>
        </dl>
      </Panel>
      <OverTime type={type} />
    </>
  );
}
