import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { readJsonText } from '../../api/json-text.ts';
import { useSend } from '../../api/operations.ts';
import type { Schedule } from '../../api/schedules.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { JobTypeInput } from '../../ui/job-type-input.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { RulePreview } from './rule-preview.tsx';

/** The kinds of rules, each with an example. */
const kinds = { cron: '0 2 * * *', rate: '15m', delay: '10m', rrule: 'FREQ=WEEKLY;BYDAY=MO' } as const;
const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = ['UTC', here, ...Intl.supportedValuesOf('timeZone')].filter(
  (one, at, all) => all.indexOf(one) === at,
);

/** A rule as it is typed. */
interface TypedRule {
  kind: keyof typeof kinds;
  text: string;
  timezone: string;
}

/** Creates a schedule; its rule is shown in words while it is typed. */
export function NewSchedule({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const send = useSend<Schedule>();
  const toasts = useToasts();
  const [type, setType] = useState('');
  const [name, setName] = useState('');
  const [rule, setRule] = useState<TypedRule>({ kind: 'cron', text: kinds.cron, timezone: here });
  const [input, setInput] = useState('null');
  const [problem, setProblem] = useState<string | null>(null);

  const create = () => {
    const read = readJsonText(input);
    if ('problem' in read) return setProblem(read.problem);
    const body = {
      type,
      ...(name === '' ? {} : { name }),
      [rule.kind]: rule.text,
      timezone: rule.timezone,
      input: read.value,
    };
    send.mutate(
      { path: 'api/schedules', body },
      {
        onSuccess: ({ id }) => {
          onClose();
          void navigate({ to: '/schedules/$id', params: { id } });
        },
        onError: toasts.complain,
      },
    );
  };

  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="New schedule"
      actions={
        <Button kind="primary" disabled={send.isPending || rule.text === '' || type === ''} onClick={create}>
          Create it
        </Button>
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <JobTypeInput value={type} onChange={setType} />
        <Field name="Name" hint="Left empty: the type.">
          <TextInput value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <RuleFields rule={rule} onChange={(changes) => setRule({ ...rule, ...changes })} />
        <div className="sm:col-span-2">
          <Field name="Input, as JSON" problem={problem}>
            <TextArea
              rows={4}
              value={input}
              onChange={(event) => setInput(event.target.value)}
              spellCheck={false}
            />
          </Field>
        </div>
      </div>
    </Dialog>
  );
}

/** The kind of rule, its time zone and the rule itself, with a preview. Another kind begins with an example. */
function RuleFields({
  rule: { kind, text, timezone },
  onChange,
}: {
  rule: TypedRule;
  onChange: (changes: Partial<TypedRule>) => void;
}) {
  const chooseKind = (next: keyof typeof kinds) => onChange({ kind: next, text: kinds[next] });
  return (
    <>
      <Field name="Kind of rule">
        <Select value={kind} onChange={(event) => chooseKind(event.target.value as keyof typeof kinds)}>
          <option value="cron">cron</option>
          <option value="rate">rate: start to start</option>
          <option value="delay">delay: from the end of the last run</option>
          <option value="rrule">RRULE</option>
        </Select>
      </Field>
      <Field name="Time zone">
        <Select value={timezone} onChange={(event) => onChange({ timezone: event.target.value })}>
          {zones.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
      </Field>
      <div className="sm:col-span-2">
        <Field name="Rule">
          <TextInput
            value={text}
            onChange={(event) => onChange({ text: event.target.value })}
            className="font-mono"
            spellCheck={false}
          />
        </Field>
      </div>
      <div className="sm:col-span-2">
        <RulePreview rule={text.trim() === '' ? null : { [kind]: text.trim(), timezone }} />
      </div>
    </>
  );
}
