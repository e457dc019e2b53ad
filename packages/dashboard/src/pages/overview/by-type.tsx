import { Link } from '@tanstack/react-router';
import { useStats } from '../../api/stats.ts';
import { duration } from '../../time/format.ts';
import { Panel } from '../../ui/panel.tsx';
import { QueryState } from '../../ui/states.tsx';
import { Cell, Table } from '../../ui/table.tsx';

/** The last hour by type: how many ended, how many failed, how long they took and waited. */
export function ByType() {
  const stats = useStats('1h');
  const rows = [...(stats.data?.data ?? [])].sort(
    (a, b) => b.completed + b.failed - (a.completed + a.failed),
  );
  return (
    <Panel
      title="The last hour, by type"
      actions={
        <Link to="/tasks" className="text-xs text-accent hover:underline">
          All tasks
        </Link>
      }
    >
      {stats.data === undefined ? (
        <QueryState query={stats} />
      ) : rows.length === 0 ? (
        <p className="px-4 py-6 text-center text-sm text-ink-faint">No job ended in the last hour.</p>
      ) : (
        <Table
          label="The last hour, by type"
          head={['Type', 'Ended', 'Failed', 'Took p50 · p95', 'Waited p95']}
        >
          {rows.slice(0, 12).map((row) => {
            const ended = row.completed + row.failed;
            const rate = ended === 0 ? 0 : (row.failed / ended) * 100;
            return (
              <tr key={row.type}>
                <Cell isLong>
                  <Link to="/tasks/$type" params={{ type: row.type }} className="font-medium hover:underline">
                    {row.type}
                  </Link>
                </Cell>
                <Cell className="tabular">{ended.toLocaleString('en')}</Cell>
                <Cell className={`tabular ${row.failed > 0 ? 'text-bad' : ''}`}>
                  {row.failed === 0
                    ? '0'
                    : `${row.failed.toLocaleString('en')} (${rate.toFixed(rate < 10 ? 1 : 0)} %)`}
                </Cell>
                <Cell className="tabular whitespace-nowrap">
                  {row.duration_ms_p50 === null ? '–' : duration(row.duration_ms_p50)} ·{' '}
                  {row.duration_ms_p95 === null ? '–' : duration(row.duration_ms_p95)}
                </Cell>
                <Cell className="tabular whitespace-nowrap">
                  {row.wait_ms_p95 === null ? '–' : duration(row.wait_ms_p95)}
                </Cell>
              </tr>
            );
          })}
        </Table>
      )}
    </Panel>
  );
}
