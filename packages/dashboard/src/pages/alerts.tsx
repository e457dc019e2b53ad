import { useAlertRules, useAlerts } from '../api/operations.ts';
import { useMay } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { Channels } from './alerts/channels.tsx';
import { Rules } from './alerts/rules.tsx';
import { Windows } from './alerts/windows.tsx';

/** What a person is told of, and by which rules. */
export function AlertsPage() {
  const alerts = useAlerts();
  const rules = useAlertRules();
  const may = useMay('admin');
  if (alerts.data === undefined) return <QueryState isPage query={alerts} />;
  if (rules.data === undefined) return <QueryState isPage query={rules} />;
  return (
    <>
      <PageHead title="Alerts" about="You are notified once when an alert fires and once when it resolves." />
      <div className="space-y-4">
        <Panel title="Firing now">
          {alerts.data.data.length === 0 ? (
            <NothingYet title="All is well." />
          ) : (
            <Table label="Firing now" head={['What', 'Rule', 'Since']}>
              {alerts.data.data.map((alert) => (
                <tr key={`${alert.rule} ${alert.subject}`}>
                  <Cell isLong>
                    <span className="font-medium text-bad">{alert.message}</span>
                    {alert.muted && <span className="ml-2 text-xs text-ink-faint">muted</span>}
                  </Cell>
                  <Cell isLong>{alert.rule}</Cell>
                  <Cell className="whitespace-nowrap">
                    <Time at={alert.fired_at} />
                  </Cell>
                </tr>
              ))}
            </Table>
          )}
        </Panel>
        <Rules rules={rules.data.data} />
        {/* Where alerts go is told to those only who may change it. */}
        {may && <Channels />}
        <Windows rules={rules.data.data} />
      </div>
    </>
  );
}
