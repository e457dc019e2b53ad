import type { ReactNode } from 'react';
import { useQueues } from '../api/operations.ts';
import { useDueSchedules } from '../api/schedules.ts';
import { OverTime } from '../charts/over-time.tsx';
import { useCaller } from '../shell/caller.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { Loading, NothingYet, QueryState } from '../ui/states.tsx';
import { ByType } from './overview/by-type.tsx';
import { DueNext } from './overview/due-next.tsx';
import { RunningNow } from './overview/running-now.tsx';
import { StatusCounts, TenantCounts } from './overview/status-counts.tsx';
import { Warnings } from './overview/warnings.tsx';
import { WentWrong } from './overview/went-wrong.tsx';

/** All promises at a glance: those of the store, or of the tenant whose key it is. */
export function OverviewPage() {
  const caller = useCaller();
  if (caller === undefined) return <Loading />;
  return caller.tenant === null ? <StoreOverview /> : <TenantOverview tenant={caller.tenant} />;
}

function StoreOverview() {
  const queues = useQueues();
  if (queues.data === undefined) return <QueryState isPage query={queues} />;
  const { status } = queues.data;
  return (
    <>
      <PageHead title="Overview" />
      <Warnings queues={queues.data.data} />
      {Object.values(status).every(({ count }) => count === 0) && <Empty />}
      <StatusCounts counts={status} />
      <OverTime />
      <TwoColumns
        left={
          <>
            <RunningNow />
            <WentWrong />
          </>
        }
        right={
          <>
            <DueNext />
            <ByType />
          </>
        }
      />
    </>
  );
}

/** No job is there, and none is to come. */
function Empty() {
  if (useDueSchedules(1).data?.data.length !== 0) return null;
  return (
    <Panel className="mb-4">
      <NothingYet title="No jobs or schedules yet." command="duly up --demo">
        Create a job on the page Jobs, a schedule on the page Schedules, or let the demo do it.
      </NothingYet>
    </Panel>
  );
}

/** Side by side where there is room, each as long as what is in it. */
function TwoColumns({ left, right }: { left: ReactNode; right: ReactNode }) {
  return (
    <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
      <div className="min-w-0 space-y-4">{left}</div>
      <div className="min-w-0 space-y-4">{right}</div>
    </div>
  );
}

/** What the server tells a tenant: its own jobs and schedules, and nothing of workers, queues and figures over all. */
function TenantOverview({ tenant }: { tenant: string }) {
  return (
    <>
      <PageHead title="Overview" about={`What is ${tenant}'s.`} />
      <TenantCounts />
      <TwoColumns
        left={
          <>
            <RunningNow />
            <WentWrong />
          </>
        }
        right={<DueNext />}
      />
    </>
  );
}
