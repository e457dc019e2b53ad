import { terminalStatuses } from '@duly/core/internal/browser';
import { useState } from 'react';
import { useSend } from '../../api/operations.ts';
import type { Webhook } from '../../api/webhooks.ts';
import { useSeesAll } from '../../shell/caller.tsx';
import { Button } from '../../ui/button.tsx';
import { Checks } from '../../ui/checks.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { namesOf, namesText } from '../../ui/names-text.ts';
import { statusStyle } from '../../ui/status.tsx';
import { useToasts } from '../../ui/toast.tsx';

const endNames = Object.fromEntries(terminalStatuses.map((end) => [end, statusStyle[end].word]));

/** What an address hears of: a new one, or changes of one that is there. */
export function WebhookDialog({
  webhook,
  onDone,
  onClose,
}: {
  webhook: Webhook | null;
  onDone: (answer: Webhook & { secret?: string }) => void;
  onClose: () => void;
}) {
  const send = useSend<Webhook & { secret?: string }>(webhook === null ? 'POST' : 'PATCH');
  const toasts = useToasts();
  const seesAll = useSeesAll();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [note, setNote] = useState(webhook?.note ?? '');
  const [types, setTypes] = useState(namesText(webhook?.types));
  const [schedules, setSchedules] = useState(namesText(webhook?.schedules));
  const [tenant, setTenant] = useState('');
  const [statuses, setStatuses] = useState<readonly string[]>(webhook?.statuses ?? terminalStatuses);
  const body = {
    url: url.trim(),
    note: note.trim() === '' ? null : note.trim(),
    types: namesOf(types),
    schedules: namesOf(schedules),
    statuses: statuses.length === terminalStatuses.length ? null : statuses,
    ...(tenant.trim() === '' ? {} : { tenant: tenant.trim() }),
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={webhook === null ? 'Add a webhook' : 'Edit the webhook'}
      actions={
        <Button
          kind="primary"
          disabled={send.isPending || body.url === '' || statuses.length === 0}
          onClick={() =>
            send.mutate(
              {
                path: webhook === null ? 'api/webhooks' : `api/webhooks/${encodeURIComponent(webhook.id)}`,
                body,
              },
              { onSuccess: onDone, onError: toasts.complain },
            )
          }
        >
          {webhook === null ? 'Add it' : 'Change it'}
        </Button>
      }
    >
      <div className="space-y-3">
        <Field name="Address">
          <TextInput
            type="url"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            placeholder="https://…"
          />
        </Field>
        <Checks name="Of these ends" choices={endNames} chosen={statuses} onChange={setStatuses} />
        <Field name="Only of these types" hint="With commas between them. Left empty: of all.">
          <TextInput value={types} onChange={(event) => setTypes(event.target.value)} />
        </Field>
        <Field
          name="Only of runs of these schedules"
          hint="With commas between them. Left empty: of all jobs."
        >
          <TextInput value={schedules} onChange={(event) => setSchedules(event.target.value)} />
        </Field>
        {webhook === null && seesAll && (
          <Field name="Only of this tenant" hint="Left empty: of all.">
            <TextInput value={tenant} onChange={(event) => setTenant(event.target.value)} />
          </Field>
        )}
        <Field name="What it is for">
          <TextInput value={note} onChange={(event) => setNote(event.target.value)} maxLength={1_000} />
        </Field>
      </div>
    </Dialog>
  );
}
