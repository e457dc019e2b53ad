import { useState } from 'react';
import { type AlertRule, useAlertChannels, useSend } from '../../api/operations.ts';
import { exactDuration } from '../../time/format.ts';
import { Button } from '../../ui/button.tsx';
import { Checks } from '../../ui/checks.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { namesOf, namesText } from '../../ui/names-text.ts';
import { useToasts } from '../../ui/toast.tsx';
import { alertKinds, type Threshold, thresholdsOf, thresholdText } from './kinds.ts';

/** A new rule, or the thresholds of one that is there. */
export function RuleDialog({ rule, onClose }: { rule: AlertRule | null; onClose: () => void }) {
  const send = useSend(rule === null ? 'POST' : 'PATCH');
  const channels = useAlertChannels().data?.data ?? [];
  const toasts = useToasts();
  const [kind, setKind] = useState(rule?.kind ?? alertKinds[0].kind);
  const [name, setName] = useState('');
  const [texts, setTexts] = useState<Partial<Record<Threshold['name'], string>>>({});
  const [hold, setHold] = useState(exactDuration(rule?.for ?? 0));
  const [types, setTypes] = useState(namesText(rule?.types));
  const [selected, setSelected] = useState<readonly string[] | null>(rule?.channels ?? null);
  const thresholds = thresholdsOf(kind);
  const textOf = (one: Threshold): string =>
    texts[one.name] ?? thresholdText(one, rule?.[one.name] ?? one.default);
  const isWhole = thresholds.every((one) => textOf(one).trim() !== '') && hold.trim() !== '';
  const body = {
    ...(rule === null ? { kind, ...(name.trim() === '' ? {} : { id: name.trim() }) } : {}),
    ...Object.fromEntries(
      thresholds.map((one) => [one.name, one.isDuration ? textOf(one).trim() : Number(textOf(one))]),
    ),
    for: hold.trim(),
    types: namesOf(types),
    channels: selected,
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={rule === null ? 'Add a rule' : `Edit the rule ${rule.id}`}
      actions={
        <Button
          kind="primary"
          disabled={send.isPending || !isWhole}
          onClick={() =>
            send.mutate(
              {
                path: rule === null ? 'api/alerts/rules' : `api/alerts/rules/${encodeURIComponent(rule.id)}`,
                body,
              },
              { onSuccess: onClose, onError: toasts.complain },
            )
          }
        >
          {rule === null ? 'Add it' : 'Change it'}
        </Button>
      }
    >
      <div className="space-y-3">
        {rule === null && (
          <>
            <Field name="When">
              <Select value={kind} onChange={(event) => setKind(event.target.value as typeof kind)}>
                {alertKinds.map(({ kind: value, title }) => (
                  <option key={value} value={value}>
                    {title}
                  </option>
                ))}
              </Select>
            </Field>
            <Field name="Name" hint="Left empty: one is created.">
              <TextInput value={name} onChange={(event) => setName(event.target.value)} maxLength={200} />
            </Field>
          </>
        )}
        {thresholds.map((one) => (
          <Field
            key={one.name}
            name={one.label}
            hint={one.isDuration ? 'A duration, such as 90 s, 15 min or 1 h 30 min.' : undefined}
          >
            <TextInput
              value={textOf(one)}
              type={one.isDuration ? 'text' : 'number'}
              onChange={(event) => setTexts({ ...texts, [one.name]: event.target.value })}
            />
          </Field>
        ))}
        <Field name="Notify after it has held for" hint="0 ms: at once.">
          <TextInput value={hold} onChange={(event) => setHold(event.target.value)} />
        </Field>
        <Field name="Only of these types" hint="With commas between them. Left empty: of all.">
          <TextInput value={types} onChange={(event) => setTypes(event.target.value)} />
        </Field>
        {channels.length > 0 && (
          <Checks
            name="Channels to notify"
            hint={selected === null ? 'All channels, including ones added later.' : undefined}
            choices={{
              ...Object.fromEntries(
                channels.map(({ id, kind: how, to, note }) => [id, note ?? `${how} ${to}`]),
              ),
            }}
            chosen={selected ?? channels.map(({ id }) => id)}
            onChange={(chosen) => setSelected(chosen.length === channels.length ? null : chosen)}
          />
        )}
      </div>
    </Dialog>
  );
}
