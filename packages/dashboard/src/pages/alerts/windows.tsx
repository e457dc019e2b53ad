import { BellOff } from 'lucide-react';
import { useState } from 'react';
import { type AlertRule, type AlertWindow, useAlertWindows } from '../../api/operations.ts';
import { useMay } from '../../shell/caller.tsx';
import { exactDuration } from '../../time/format.ts';
import { Instant } from '../../time/time.tsx';
import { Button } from '../../ui/button.tsx';
import { DeleteButton } from '../../ui/delete-button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { NothingYet, QueryState } from '../../ui/states.tsx';
import { Cell, Table } from '../../ui/table.tsx';
import { AddWindow } from './add-window.tsx';

/** The times in which no alert is sent. */
export function Windows({ rules }: { rules: readonly AlertRule[] }) {
  const may = useMay('admin');
  const windows = useAlertWindows();
  const [isAdding, setAdding] = useState(false);
  const rows = windows.data?.data;
  return (
    <Panel
      title="Maintenance windows"
      actions={may && <Button onClick={() => setAdding(true)}>Add a window</Button>}
    >
      {rows === undefined ? (
        <QueryState query={windows} />
      ) : rows.length === 0 ? (
        <NothingYet title="Alerts are sent at any time.">
          In a maintenance window no alert is sent; what still holds at its end is sent then.
        </NothingYet>
      ) : (
        <Table label="Maintenance windows" head={['When', 'Rules', 'Note', '']}>
          {rows.map((window) => (
            <tr key={window.id}>
              <Cell isLong>
                <WindowTime window={window} />
                {window.open && (
                  <p className="mt-0.5 flex items-center gap-1 text-xs text-warn">
                    <BellOff aria-hidden className="size-3.5" />
                    open now: no alert is sent
                  </p>
                )}
              </Cell>
              <Cell isLong>{window.rules?.join(', ') ?? 'all rules'}</Cell>
              <Cell isLong>{window.note ?? ''}</Cell>
              <Cell className="text-right">
                {may && (
                  <DeleteButton
                    verb="Delete"
                    title="Delete this maintenance window?"
                    path={`api/alerts/windows/${encodeURIComponent(window.id)}`}
                  >
                    <p>Alerts are sent in this time, too.</p>
                  </DeleteButton>
                )}
              </Cell>
            </tr>
          ))}
        </Table>
      )}
      {isAdding && <AddWindow rules={rules} onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function WindowTime({ window: { from, until, cron, timezone, duration } }: { window: AlertWindow }) {
  if (cron === undefined)
    return (
      <>
        <Instant at={from} /> to <Instant at={until} />
      </>
    );
  return (
    <>
      <code className="font-mono text-xs">{cron}</code> for {exactDuration(duration ?? 0)}
      <p className="text-xs text-ink-faint">{timezone}</p>
    </>
  );
}
