import { useState } from 'react';
import { useAlertChannels, useSend } from '../../api/operations.ts';
import { Button } from '../../ui/button.tsx';
import { DeleteButton } from '../../ui/delete-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { NothingYet, QueryState } from '../../ui/states.tsx';
import { Cell, Table } from '../../ui/table.tsx';
import { useToasts } from '../../ui/toast.tsx';

/** Whom alerts are told to. */
export function Channels() {
  const channels = useAlertChannels();
  const [isAdding, setAdding] = useState(false);
  const test = useSend();
  const toasts = useToasts();
  const rows = channels.data?.data;
  return (
    <Panel title="Channels" actions={<Button onClick={() => setAdding(true)}>Add a channel</Button>}>
      {rows === undefined ? (
        <QueryState query={channels} />
      ) : rows.length === 0 ? (
        <NothingYet title="Nobody is notified yet.">Alerts are shown here; a channel sends them.</NothingYet>
      ) : (
        <Table label="Channels" head={['Kind', 'To', 'Note', '']}>
          {rows.map((channel) => (
            <tr key={channel.id}>
              <Cell>{channel.kind}</Cell>
              <Cell isLong className="font-mono text-xs">
                {channel.to}
              </Cell>
              <Cell isLong>{channel.note ?? ''}</Cell>
              <Cell className="text-right">
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
                  <DeleteButton
                    verb="Remove"
                    title="Remove this channel?"
                    path={`api/alerts/channels/${encodeURIComponent(channel.id)}`}
                  >
                    <p>
                      <span className="font-mono text-xs break-all">{channel.to}</span> is notified of nothing
                      from now on.
                    </p>
                  </DeleteButton>
                </span>
              </Cell>
            </tr>
          ))}
        </Table>
      )}
      {isAdding && <AddChannel onClose={() => setAdding(false)} />}
    </Panel>
  );
}

function AddChannel({ onClose }: { onClose: () => void }) {
  const send = useSend();
  const toasts = useToasts();
  const [kind, setKind] = useState('webhook');
  const [to, setTo] = useState('');
  const [note, setNote] = useState('');
  const body = {
    ...(kind === 'email' ? { kind, to: to.split(',').map((one) => one.trim()) } : { kind, url: to.trim() }),
    ...(note.trim() === '' ? {} : { note: note.trim() }),
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a channel"
      actions={
        <Button
          kind="primary"
          disabled={to.trim() === '' || send.isPending}
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
        <Field name="Note">
          <TextInput value={note} onChange={(event) => setNote(event.target.value)} maxLength={1_000} />
        </Field>
      </div>
    </Dialog>
  );
}
