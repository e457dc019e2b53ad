import { BellOff } from 'lucide-react';
import { useState } from 'react';
import { type AlertRule, type AlertWindow, useAlertWindows, useSend } from '../../api/operations.ts';
import { useMay } from '../../shell/caller.tsx';
import { exactDuration } from '../../time/format.ts';
import { Instant } from '../../time/time.tsx';
import { useTypedInstants } from '../../time/typed-instant.ts';
import { Button } from '../../ui/button.tsx';
import { Checks } from '../../ui/checks.tsx';
import { ChoiceBar } from '../../ui/choice-bar.tsx';
import { DeleteButton } from '../../ui/delete-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { NothingYet, QueryState } from '../../ui/states.tsx';
import { Cell, Table } from '../../ui/table.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { RulePreview } from '../schedules/rule-preview.tsx';

/** The times in which nobody is told. */
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

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

function AddWindow({ rules, onClose }: { rules: readonly AlertRule[]; onClose: () => void }) {
  const send = useSend();
  const toasts = useToasts();
  const [kind, setKind] = useState<'once' | 'calendar'>('once');
  const instants = useTypedInstants();
  const [from, setFrom] = useState('');
  const [until, setUntil] = useState('');
  const [cron, setCron] = useState('0 2 * * SUN');
  const [timezone, setTimezone] = useState(here);
  const [length, setLength] = useState('2 h');
  const [note, setNote] = useState('');
  const [muted, setMuted] = useState<readonly string[]>(rules.map(({ id }) => id));
  const isWhole =
    muted.length > 0 &&
    (kind === 'once' ? from !== '' && until !== '' : cron.trim() !== '' && length.trim() !== '');
  const add = () =>
    send.mutate(
      {
        path: 'api/alerts/windows',
        body: {
          ...(kind === 'once'
            ? { from: instants.read(from), until: instants.read(until) }
            : { cron: cron.trim(), timezone: timezone.trim(), duration: length.trim() }),
          ...(muted.length === rules.length ? {} : { rules: muted }),
          ...(note.trim() === '' ? {} : { note: note.trim() }),
        },
      },
      { onSuccess: onClose, onError: toasts.complain },
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a maintenance window"
      actions={
        <Button kind="primary" disabled={send.isPending || !isWhole} onClick={add}>
          Add it
        </Button>
      }
    >
      <div className="space-y-3">
        <ChoiceBar
          label="How often"
          choices={{ once: 'Once', calendar: 'By the calendar' }}
          chosen={kind}
          onChoose={(next) => setKind(next)}
        />
        {kind === 'once' ? (
          <div className="grid gap-3 sm:grid-cols-2">
            <Field name="From" hint={instants.hint}>
              <TextInput
                type="datetime-local"
                value={from}
                onChange={(event) => setFrom(event.target.value)}
              />
            </Field>
            <Field name="Until">
              <TextInput
                type="datetime-local"
                value={until}
                onChange={(event) => setUntil(event.target.value)}
              />
            </Field>
          </div>
        ) : (
          <>
            <div className="grid gap-3 sm:grid-cols-3">
              <Field name="Begins, as cron">
                <TextInput
                  value={cron}
                  onChange={(event) => setCron(event.target.value)}
                  className="font-mono"
                  spellCheck={false}
                />
              </Field>
              <Field name="Time zone">
                <TextInput value={timezone} onChange={(event) => setTimezone(event.target.value)} />
              </Field>
              <Field name="For">
                <TextInput value={length} onChange={(event) => setLength(event.target.value)} />
              </Field>
            </div>
            <RulePreview
              rule={cron.trim() === '' ? null : { cron: cron.trim(), timezone: timezone.trim() }}
            />
          </>
        )}
        <Checks
          name="Mutes these rules"
          choices={Object.fromEntries(rules.map(({ id }) => [id, id]))}
          chosen={muted}
          onChange={setMuted}
        />
        <Field name="Why">
          <TextInput value={note} onChange={(event) => setNote(event.target.value)} maxLength={1_000} />
        </Field>
      </div>
    </Dialog>
  );
}
