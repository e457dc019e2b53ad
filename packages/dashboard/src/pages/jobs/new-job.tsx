import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { Job } from '../../api/jobs.ts';
import { readJsonText } from '../../api/json-text.ts';
import { useSend, useTasks } from '../../api/operations.ts';
import { useMay } from '../../shell/caller.tsx';
import { type TypedInstants, useTypedInstants } from '../../time/typed-instant.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { JobTypeInput } from '../../ui/job-type-input.tsx';
import { inputOfFields, schemaFields } from '../../ui/schema-fields.ts';
import { SchemaForm } from '../../ui/schema-form.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { RulePreview } from '../schedules/rule-preview.tsx';

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** When the job runs, as it is typed. */
interface TypedWhen {
  kind: 'now' | 'in' | 'at' | 'every';
  delay: string;
  at: string;
  cron: string;
}

/** Creates a job, or a schedule that creates jobs: of which type, with which input, and when. */
export function NewJob({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const send = useSend<Job>();
  const toasts = useToasts();
  const instants = useTypedInstants();
  const [type, setType] = useState('');
  const input = useTypedInput(type);
  const [when, setWhen] = useState<TypedWhen>({ kind: 'now', delay: '15m', at: '', cron: '0 8 * * *' });

  const create = () => {
    const read = input.read();
    if (read === null) return;
    const isSchedule = when.kind === 'every';
    const body = { type, input: read.value, ...whenBody(when, instants) };
    send.mutate(
      { path: isSchedule ? 'api/schedules' : 'api/jobs', body },
      {
        onSuccess: ({ id }) => {
          onClose();
          void navigate({ to: isSchedule ? '/schedules/$id' : '/jobs/$id', params: { id } });
        },
        onError: toasts.complain,
      },
    );
  };

  return (
    <Dialog
      open
      onClose={onClose}
      title="New job"
      actions={
        <Button
          kind="primary"
          disabled={type === '' || send.isPending || (when.kind === 'at' && when.at === '')}
          onClick={create}
        >
          Create it
        </Button>
      }
    >
      <div className="space-y-3">
        <JobTypeInput value={type} onChange={setType} />
        <InputFields input={input} />
        <WhenFields
          when={when}
          instantHint={instants.hint}
          onChange={(changes) => setWhen({ ...when, ...changes })}
        />
      </div>
    </Dialog>
  );
}

/** When the job runs, as the API takes it. */
function whenBody({ kind, delay, at, cron }: TypedWhen, instants: TypedInstants) {
  if (kind === 'in') return { delay };
  if (kind === 'at') return { run_at: instants.read(at) };
  if (kind === 'every') return { cron, timezone: here };
  return {};
}

type TypedInput = ReturnType<typeof useTypedInput>;

/** The input as it is typed: in a form if the task declares a schema that a form can show, or as JSON. */
function useTypedInput(type: string) {
  const tasks = useTasks();
  const [json, setJson] = useState('null');
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [isJson, setIsJson] = useState(false);
  const [problem, setProblem] = useState<{ name: string; problem: string } | null>(null);
  const schema = tasks.data?.data.find((task) => task.type === type)?.input_schema;
  const fields = useMemo(() => schemaFields(schema), [schema]);
  return {
    /** The fields of the form; null: there is none. */
    fields,
    isJson: fields === null || isJson,
    json,
    texts,
    problem,
    setJson: (next: string) => {
      setProblem(null);
      setJson(next);
    },
    setTexts: (next: Record<string, string>) => {
      setProblem(null);
      setTexts(next);
    },
    /** Switches between form and JSON, and takes what is in the form along if it is valid. */
    switchView: () => {
      const read = fields === null ? null : inputOfFields(fields, texts);
      if (!isJson && read !== null && 'value' in read) setJson(JSON.stringify(read.value, null, 2));
      setProblem(null);
      setIsJson(!isJson);
    },
    /** The input; null: it is invalid, which is then shown. */
    read: (): { value: unknown } | null => {
      const read = fields === null || isJson ? readJsonText(json) : inputOfFields(fields, texts);
      if (!('problem' in read)) return read;
      setProblem({ name: '', ...read });
      return null;
    },
  };
}

function InputFields({ input }: { input: TypedInput }) {
  const { fields, isJson, problem } = input;
  return (
    <>
      {fields === null || isJson ? (
        <Field name="Input, as JSON" problem={problem?.problem ?? null}>
          <TextArea
            rows={5}
            value={input.json}
            spellCheck={false}
            onChange={(event) => input.setJson(event.target.value)}
          />
        </Field>
      ) : (
        <SchemaForm fields={fields} texts={input.texts} problem={problem} onChange={input.setTexts} />
      )}
      {fields !== null && (
        <Button kind="quiet" onClick={input.switchView}>
          {isJson ? 'As a form' : 'As JSON'}
        </Button>
      )}
    </>
  );
}

function WhenFields({
  when: { kind, delay, at, cron },
  instantHint,
  onChange,
}: {
  when: TypedWhen;
  instantHint: string;
  onChange: (changes: Partial<TypedWhen>) => void;
}) {
  const mayRepeat = useMay('operate');
  return (
    <>
      <div className="grid grid-cols-2 gap-3">
        <Field name="When">
          <Select
            value={kind}
            onChange={(event) => onChange({ kind: event.target.value as TypedWhen['kind'] })}
          >
            <option value="now">as soon as possible</option>
            <option value="in">after a delay</option>
            <option value="at">at a time</option>
            {mayRepeat && <option value="every">again and again</option>}
          </Select>
        </Field>
        {kind === 'in' && (
          <Field name="Delay" hint="15m, 3 days, PT2H">
            <TextInput value={delay} onChange={(event) => onChange({ delay: event.target.value })} />
          </Field>
        )}
        {kind === 'at' && (
          <Field name="Time" hint={instantHint}>
            <TextInput
              type="datetime-local"
              value={at}
              onChange={(event) => onChange({ at: event.target.value })}
            />
          </Field>
        )}
        {kind === 'every' && (
          <Field name="Rule, as cron" hint={`In ${here}.`}>
            <TextInput
              value={cron}
              className="font-mono"
              onChange={(event) => onChange({ cron: event.target.value })}
            />
          </Field>
        )}
      </div>
      {kind === 'every' && (
        <RulePreview rule={cron.trim() === '' ? null : { cron: cron.trim(), timezone: here }} />
      )}
    </>
  );
}
