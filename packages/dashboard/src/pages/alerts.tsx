import { useState } from 'react';
import {
  type AlertChannel,
  type AlertRule,
  useAlertChannels,
  useAlertRules,
  useAlerts,
  useSend,
} from '../api/operations.ts';
import { useMay } from '../shell/caller.tsx';
import { duration } from '../time/format.ts';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Select, TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { Loading, NothingYet, Trouble } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { useToasts } from '../ui/toast.tsx';

/** What a person is told of, and by which rules. */
export function AlertsPage() {
  const alerts = useAlerts();
  const rules = useAlertRules();
  if (alerts.isPending || rules.isPending) return <Loading />;
  if (alerts.data === undefined || rules.data === undefined)
    return <Trouble error={alerts.error ?? rules.error} onRetry={() => void alerts.refetch()} />;
  return (
    <>
      <PageHead title="Alerts" about="Told once when it fires and once when it is over." />
      <div className="space-y-4">
        <Panel title="Firing now">
          {alerts.data.data.length === 0 ? (
            <NothingYet title="All is well." />
          ) : (
            <Table label="Firing now" head={['What', 'Rule', 'Since']}>
              {alerts.data.data.map((alert) => (
                <tr key={`${alert.rule} ${alert.subject}`}>
                  <Cell>
                    <span className="font-medium text-bad">{alert.message}</span>
                    {alert.muted && <span className="ml-2 text-xs text-ink-faint">muted</span>}
                  </Cell>
                  <Cell>{alert.rule}</Cell>
                  <Cell>
                    <Time at={alert.fired_at} />
                  </Cell>
                </tr>
              ))}
            </Table>
          )}
        </Panel>
        <Panel title="Rules">
          <Table label="Rules" head={['Rule', 'When', 'Only', '']}>
            {rules.data.data.map((rule) => (
              <RuleRow key={rule.id} rule={rule} />
            ))}
          </Table>
        </Panel>
        <Channels />
      </div>
    </>
  );
}

function sentenceOf(rule: AlertRule): string {
  const after = duration(rule.after ?? 0);
  switch (rule.kind) {
    case 'stuck':
      return `a job runs for longer than ${after}`;
    case 'failure_rate':
      return `more than ${rule.above} % fail within ${duration(rule.window ?? 0)}, of at least ${rule.min_count}`;
    case 'failures_in_row':
      return `${rule.count} jobs of a task fail in a row`;
    case 'schedule_deadline':
      return 'a schedule has not succeeded by its deadline';
    case 'waiting':
      return `the oldest job waits for longer than ${after}`;
    case 'no_worker':
      return `no worker handles a task for ${after}`;
    case 'dead_letters':
      return `more than ${rule.above} dead letters wait`;
    default:
      return rule.kind;
  }
}

function RuleRow({ rule }: { rule: AlertRule }) {
  const may = useMay('admin');
  const send = useSend('PATCH');
  const toasts = useToasts();
  return (
    <tr className={rule.enabled ? '' : 'text-ink-faint'}>
      <Cell className="font-medium">{rule.id}</Cell>
      <Cell>{sentenceOf(rule)}</Cell>
      <Cell>{rule.types?.join(', ') ?? 'all tasks'}</Cell>
      <Cell className="text-right">
        {may && (
          <Button
            disabled={send.isPending}
            onClick={() =>
              send.mutate(
                { path: `api/alerts/rules/${encodeURIComponent(rule.id)}`, body: { enabled: !rule.enabled } },
                { onError: toasts.complain },
              )
            }
          >
            {rule.enabled ? 'Switch off' : 'Switch on'}
          </Button>
        )}
      </Cell>
    </tr>
  );
}

function Channels() {
  const channels = useAlertChannels();
  const may = useMay('admin');
  const [isAdding, setAdding] = useState(false);
  const test = useSend();
  const toasts = useToasts();
  const rows = channels.data?.data ?? [];
  return (
    <Panel title="Channels" actions={may && <Button onClick={() => setAdding(true)}>Add a channel</Button>}>
      {rows.length === 0 ? (
        <NothingYet title="Nobody is told yet.">Alerts are shown here; a channel tells somebody.</NothingYet>
      ) : (
        <Table label="Channels" head={['Kind', 'To', 'Note', '']}>
          {rows.map((channel) => (
            <tr key={channel.id}>
              <Cell>{channel.kind}</Cell>
              <Cell className="font-mono text-xs">{channel.to}</Cell>
              <Cell>{channel.note ?? ''}</Cell>
              <Cell className="text-right">
                {may && (
                  <span className="inline-flex gap-2">
                    <Button
                      disabled={test.isPending}
                      onClick={() =>
                        test.mutate(
                          { path: `api/alerts/channels/${encodeURIComponent(channel.id)}/test`, body: {} },
                          { onSuccess: () => toasts.say('A test was sent.'), onError: toasts.complain },
                        )
                      }
                    >
                      Test
                    </Button>
                    <RemoveChannel channel={channel} />
                  </span>
                )}
              </Cell>
            </tr>
          ))}
        </Table>
      )}
      {isAdding && <AddChannel onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function RemoveChannel({ channel }: { channel: AlertChannel }) {
  const send = useSend('DELETE');
  const toasts = useToasts();
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      <Button kind="danger" onClick={() => setAsked(true)}>
        Remove
      </Button>
      {isAsked && (
        <Dialog
          open
          onClose={() => setAsked(false)}
          title="Remove this channel?"
          actions={
            <Button
              kind="danger"
              disabled={send.isPending}
              onClick={() =>
                send.mutate(
                  { path: `api/alerts/channels/${encodeURIComponent(channel.id)}` },
                  { onSuccess: () => setAsked(false), onError: toasts.complain },
                )
              }
            >
              Remove
            </Button>
          }
        >
          <p className="text-sm">
            <span className="font-mono text-xs break-all">{channel.to}</span> is told of nothing from now on.
          </p>
        </Dialog>
      )}
    </>
  );
}

function AddChannel({ onClose }: { onClose: () => void }) {
  const send = useSend();
  const toasts = useToasts();
  const [kind, setKind] = useState('webhook');
  const [to, setTo] = useState('');
  const body = kind === 'email' ? { kind, to: to.split(',').map((one) => one.trim()) } : { kind, url: to };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a channel"
      actions={
        <Button
          kind="primary"
          disabled={to === '' || send.isPending}
          onClick={() =>
            send.mutate(
              { path: 'api/alerts/channels', body },
              { onSuccess: onClose, onError: toasts.complain },
            )
          }
        >
          Add it
        </Button>
      }
    >
      <div className="space-y-3">
        <Field name="Kind">
          <Select value={kind} onChange={(event) => setKind(event.target.value)}>
            <option value="webhook">Webhook</option>
            <option value="slack">Slack</option>
            <option value="email">E-mail</option>
          </Select>
        </Field>
        <Field name={kind === 'email' ? 'Addresses, with commas between them' : 'Address'}>
          <TextInput
            value={to}
            onChange={(event) => setTo(event.target.value)}
            placeholder={kind === 'email' ? 'ops@example.com' : 'https://…'}
          />
        </Field>
      </div>
    </Dialog>
  );
}
