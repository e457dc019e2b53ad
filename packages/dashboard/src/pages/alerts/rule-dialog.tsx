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

type Kind = (typeof alertKinds)[number]['kind'];

/** Creates a rule, or edits an existing one. */
export function RuleDialog({ rule, onClose }: { rule: AlertRule | null; onClose: () => void }) {
  const send = useSend(rule === null ? 'POST' : 'PATCH');
  const toasts = useToasts();
  const form = useRuleForm(rule);
  const path = rule === null ? 'api/alerts/rules' : `api/alerts/rules/${encodeURIComponent(rule.id)}`;
  const save = () =>
    send.mutate({ path, body: form.body() }, { onSuccess: onClose, onError: toasts.complain });
  return (
    <Dialog
      open
      onClose={onClose}
      title={rule === null ? 'Add a rule' : `Edit the rule ${rule.id}`}
      actions={
        <Button kind="primary" disabled={send.isPending || !form.isComplete} onClick={save}>
          {rule === null ? 'Add it' : 'Change it'}
        </Button>
      }
    >
      <div className="space-y-3">
        {rule === null && <KindAndName form={form} />}
        {form.thresholds.map((one) => (
          <ThresholdField key={one.name} threshold={one} form={form} />
        ))}
        <Field name="Notify after it has held for" hint="0 ms: at once.">
          <TextInput value={form.hold} onChange={(event) => form.setHold(event.target.value)} />
        </Field>
        <Field name="Only of these types" hint="With commas between them. Left empty: of all.">
          <TextInput value={form.types} onChange={(event) => form.setTypes(event.target.value)} />
        </Field>
        <ChannelChecks selected={form.channels} onSelect={form.setChannels} />
      </div>
    </Dialog>
  );
}

type RuleForm = ReturnType<typeof useRuleForm>;

/** What is typed and chosen in the dialog, and the body of the request that saves it. */
function useRuleForm(rule: AlertRule | null) {
  const [kind, setKind] = useState<AlertRule['kind']>(rule?.kind ?? alertKinds[0].kind);
  const [name, setName] = useState('');
  const [texts, setTexts] = useState<Partial<Record<Threshold['name'], string>>>({});
  const [hold, setHold] = useState(exactDuration(rule?.for ?? 0));
  const [types, setTypes] = useState(namesText(rule?.types));
  /** null: all channels. */
  const [channels, setChannels] = useState<readonly string[] | null>(rule?.channels ?? null);
  const thresholds = thresholdsOf(kind);
  const textOf = (one: Threshold): string =>
    texts[one.name] ?? thresholdText(one, rule?.[one.name] ?? one.default);
  const thresholdValue = (one: Threshold) => (one.isDuration ? textOf(one).trim() : Number(textOf(one)));
  return {
    kind,
    setKind,
    name,
    setName,
    hold,
    setHold,
    types,
    setTypes,
    channels,
    setChannels,
    thresholds,
    textOf,
    setText: (one: Threshold, text: string) => setTexts({ ...texts, [one.name]: text }),
    isComplete: thresholds.every((one) => textOf(one).trim() !== '') && hold.trim() !== '',
    body: () => ({
      ...(rule === null ? { kind, ...(name.trim() === '' ? {} : { id: name.trim() }) } : {}),
      ...Object.fromEntries(thresholds.map((one) => [one.name, thresholdValue(one)])),
      for: hold.trim(),
      types: namesOf(types),
      channels,
    }),
  };
}

function KindAndName({ form }: { form: RuleForm }) {
  return (
    <>
      <Field name="When">
        <Select value={form.kind} onChange={(event) => form.setKind(event.target.value as Kind)}>
          {alertKinds.map(({ kind, title }) => (
            <option key={kind} value={kind}>
              {title}
            </option>
          ))}
        </Select>
      </Field>
      <Field name="Name" hint="Left empty: one is created.">
        <TextInput value={form.name} onChange={(event) => form.setName(event.target.value)} maxLength={200} />
      </Field>
    </>
  );
}

function ThresholdField({ threshold, form }: { threshold: Threshold; form: RuleForm }) {
  const { label, isDuration } = threshold;
  return (
    <Field name={label} hint={isDuration ? 'A duration, such as 90 s, 15 min or 1 h 30 min.' : undefined}>
      <TextInput
        value={form.textOf(threshold)}
        type={isDuration ? 'text' : 'number'}
        onChange={(event) => form.setText(threshold, event.target.value)}
      />
    </Field>
  );
}

/** The channels to notify. `selected` null means all, including channels that are added later. */
function ChannelChecks({
  selected,
  onSelect,
}: {
  selected: readonly string[] | null;
  onSelect: (selected: readonly string[] | null) => void;
}) {
  const channels = useAlertChannels().data?.data ?? [];
  if (channels.length === 0) return null;
  return (
    <Checks
      name="Channels to notify"
      hint={selected === null ? 'All channels, including ones added later.' : undefined}
      choices={Object.fromEntries(channels.map(({ id, kind, to, note }) => [id, note ?? `${kind} ${to}`]))}
      chosen={selected ?? channels.map(({ id }) => id)}
      onChange={(chosen) => onSelect(chosen.length === channels.length ? null : chosen)}
    />
  );
}
