import { Link } from '@tanstack/react-router';
import { useNodes } from '../api/operations.ts';
import { failureShare, shareText, useStats } from '../api/stats.ts';
import { duration } from '../time/format.ts';
import { Time } from '../time/time.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';

/** Every task that a worker handles, or of which a job ended in the last week: how its jobs end and how long they take. */
export function TasksPage() {
  const stats = useStats('7d');
  const nodes = useNodes();
  if (stats.data === undefined) return <QueryState isPage query={stats} />;
  const handled = new Map<string, number>();
  for (const { tasks, silent } of nodes.data?.data ?? []) {
    if (silent) continue;
    for (const { type } of tasks) handled.set(type, (handled.get(type) ?? 0) + 1);
  }
  const known = new Map(stats.data.data.map((one) => [one.type, one]));
  // Duly's own tasks are shown once they ran.
  const types = [
    ...new Set([...known.keys(), ...[...handled.keys()].filter((type) => !type.startsWith('duly:'))]),
  ].sort();
  return (
    <>
      <PageHead
        title="Tasks"
        about="How jobs of each task ended in the last 7 days, and how long they usually take."
      />
      <Panel>
        {types.length === 0 ? (
          <NothingYet title="No task is known yet." command="duly worker">
            A task is known once a worker handles it or a job of it has ended.
          </NothingYet>
        ) : (
          <Table
            label="Tasks"
            head={[
              'Task',
              'Ended',
              'Failure rate',
              'Took p50 · p95',
              'Waited p50 · p95',
              'Last success',
              'Workers',
            ]}
          >
            {types.map((type) => {
              const one = known.get(type);
              const share = one === undefined ? null : failureShare(one);
              return (
                <tr key={type}>
                  <Cell isLong>
                    <Link to="/tasks/$type" params={{ type }} className="font-medium hover:underline">
                      {type}
                    </Link>
                  </Cell>
                  <Cell className="tabular">
                    {one === undefined
                      ? '0'
                      : (one.completed + one.failed + one.cancelled + one.expired).toLocaleString('en')}
                  </Cell>
                  <Cell className={`tabular whitespace-nowrap ${(share ?? 0) > 0 ? 'text-bad' : ''}`}>
                    {shareText(share)}
                    {one !== undefined && one.failed > 0 && ` (${one.failed.toLocaleString('en')})`}
                  </Cell>
                  <Cell className="tabular whitespace-nowrap">
                    {pair(one?.duration_ms_p50, one?.duration_ms_p95)}
                  </Cell>
                  <Cell className="tabular whitespace-nowrap">
                    {pair(one?.wait_ms_p50, one?.wait_ms_p95)}
                  </Cell>
                  <Cell className="whitespace-nowrap">
                    <Time at={one?.last_completed_at} />
                  </Cell>
                  <Cell className={`tabular ${handled.has(type) ? '' : 'text-warn'}`}>
                    {handled.get(type) ?? 'none'}
                  </Cell>
                </tr>
              );
            })}
          </Table>
        )}
      </Panel>
    </>
  );
}

function pair(p50: number | null | undefined, p95: number | null | undefined): string {
  return p50 == null ? '–' : `${duration(p50)} · ${p95 == null ? '–' : duration(p95)}`;
}
