import { useState } from 'react';
import { type AlertRule, useSend } from '../../api/operations.ts';
import { type TypedInstants, useTypedInstants } from '../../time/typed-instant.ts';
import { Button } from '../../ui/button.tsx';
import { Checks } from '../../ui/checks.tsx';
import { ChoiceBar } from '../../ui/choice-bar.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { RulePreview } from '../schedules/rule-preview.tsx';

/** When a window is open, as it is typed: once, or again and again by the calendar. */
interface TypedTimes {
  kind: 'once' | 'calendar';
  from: string;
  until: string;
  cron: string;
  timezone: string;
  length: string;
}

interface TimesFieldsProps {
  times: TypedTimes;
  onChange: (changes: Partial<TypedTimes>) => void;
}

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Creates a maintenance window. */
export function AddWindow({ rules, onClose }: { rules: readonly AlertRule[]; onClose: () => void }) {
  const send = useSend();
  const toasts = useToasts();
  const instants = useTypedInstants();
  const [times, setTimes] = useState<TypedTimes>({
    kind: 'once',
    from: '',
    until: '',
    cron: '0 2 * * SUN',
    timezone: here,
    length: '2 h',
  });
  const [note, setNote] = useState('');
  const [muted, setMuted] = useState<readonly string[]>(rules.map(({ id }) => id));
  const change = (changes: Partial<TypedTimes>) => setTimes((before) => ({ ...before, ...changes }));
  const add = () => {
    const body = {
      ...timesBody(times, instants),
      ...(muted.length === rules.length ? {} : { rules: muted }),
      ...(note.trim() === '' ? {} : { note: note.trim() }),
    };
    send.mutate({ path: 'api/alerts/windows', body }, { onSuccess: onClose, onError: toasts.complain });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a maintenance window"
      actions={
        <Button
          kind="primary"
          disabled={send.isPending || muted.length === 0 || !isComplete(times)}
          onClick={add}
        >
          Add it
        </Button>
      }
    >
      <div className="space-y-3">
        <ChoiceBar
          label="How often"
          choices={{ once: 'Once', calendar: 'By the calendar' }}
          chosen={times.kind}
          onChoose={(kind) => change({ kind })}
        />
        {times.kind === 'once' ? (
          <OnceFields times={times} onChange={change} hint={instants.hint} />
        ) : (
          <CalendarFields times={times} onChange={change} />
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

/** Whether nothing is left empty that the window needs. */
function isComplete({ kind, from, until, cron, length }: TypedTimes): boolean {
  return kind === 'once' ? from !== '' && until !== '' : cron.trim() !== '' && length.trim() !== '';
}

/** The times as the API takes them. */
function timesBody({ kind, from, until, cron, timezone, length }: TypedTimes, instants: TypedInstants) {
  return kind === 'once'
    ? { from: instants.read(from), until: instants.read(until) }
    : { cron: cron.trim(), timezone: timezone.trim(), duration: length.trim() };
}

function OnceFields({ times: { from, until }, onChange, hint }: TimesFieldsProps & { hint: string }) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field name="From" hint={hint}>
        <TextInput
          type="datetime-local"
          value={from}
          onChange={(event) => onChange({ from: event.target.value })}
        />
      </Field>
      <Field name="Until">
        <TextInput
          type="datetime-local"
          value={until}
          onChange={(event) => onChange({ until: event.target.value })}
        />
      </Field>
    </div>
  );
}

function CalendarFields({ times: { cron, timezone, length }, onChange }: TimesFieldsProps) {
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-3">
        <Field name="Begins, as cron">
          <TextInput
            value={cron}
            onChange={(event) => onChange({ cron: event.target.value })}
            className="font-mono"
            spellCheck={false}
          />
        </Field>
        <Field name="Time zone">
          <TextInput value={timezone} onChange={(event) => onChange({ timezone: event.target.value })} />
        </Field>
        <Field name="For">
          <TextInput value={length} onChange={(event) => onChange({ length: event.target.value })} />
        </Field>
      </div>
      <RulePreview rule={cron.trim() === '' ? null : { cron: cron.trim(), timezone: timezone.trim() }} />
    </>
  );
}
