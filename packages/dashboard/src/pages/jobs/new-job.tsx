import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { Job } from '../../api/jobs.ts';
import { readJsonText } from '../../api/json-text.ts';
import { useSend, useTasks } from '../../api/operations.ts';
import { useMay } from '../../shell/caller.tsx';
import { useTypedInstants } from '../../time/typed-instant.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { JobTypeInput } from '../../ui/job-type-input.tsx';
import { inputOfFields, schemaFields } from '../../ui/schema-fields.ts';
import { SchemaForm } from '../../ui/schema-form.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { RulePreview } from '../schedules/rule-preview.tsx';

type When = 'now' | 'in' | 'at' | 'every';

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A job, or a rule that makes jobs: which type, with what input (a form, where the task says what it takes), when. */
export function NewJob({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const send = useSend<Job>();
  const mayRule = useMay('operate');
  const toasts = useToasts();
  const tasks = useTasks();
  const [type, setType] = useState('');
  const [input, setInput] = useState('null');
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [isJson, setJson] = useState(false);
  const [when, setWhen] = useState<When>('now');
  const [delay, setDelay] = useState('15m');
  const [at, setAt] = useState('');
  const instants = useTypedInstants();
  const [cron, setCron] = useState('0 8 * * *');
  const [problem, setProblem] = useState<{ name: string; problem: string } | null>(null);
  const schema = tasks.data?.data.find((task) => task.type === type)?.input_schema;
  const fields = useMemo(() => schemaFields(schema), [schema]);
  const isForm = fields !== null && !isJson;

  const create = () => {
    const read = isForm ? inputOfFields(fields, texts) : readJsonText(input);
    if ('problem' in read) return setProblem({ name: '', ...read });
    const due =
      when === 'in'
        ? { delay }
        : when === 'at'
          ? { run_at: instants.read(at) }
          : when === 'every'
            ? { cron, timezone: here }
            : {};
    const isRule = when === 'every';
    send.mutate(
      { path: isRule ? 'api/schedules' : 'api/jobs', body: { type, input: read.value, ...due } },
      {
        onSuccess: ({ id }) => {
          onClose();
          void navigate({ to: isRule ? '/schedules/$id' : '/jobs/$id', params: { id } });
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
          disabled={type === '' || send.isPending || (when === 'at' && at === '')}
          onClick={create}
        >
          Create it
        </Button>
      }
    >
      <div className="space-y-3">
        <JobTypeInput value={type} onChange={setType} />
        {isForm ? (
          <SchemaForm
            fields={fields}
            texts={texts}
            problem={problem}
            onChange={(next) => {
              setProblem(null);
              setTexts(next);
            }}
          />
        ) : (
          <Field name="Input, as JSON" problem={problem?.problem ?? null}>
            <TextArea
              rows={5}
              value={input}
              spellCheck={false}
              onChange={(event) => {
                setProblem(null);
                setInput(event.target.value);
              }}
            />
          </Field>
        )}
        {fields !== null && (
          <Button
            kind="quiet"
            onClick={() => {
              const read = inputOfFields(fields, texts);
              if (!isJson && 'value' in read) setInput(JSON.stringify(read.value, null, 2));
              setProblem(null);
              setJson(!isJson);
            }}
          >
            {isJson ? 'As a form' : 'As JSON'}
          </Button>
        )}
        <div className="grid grid-cols-2 gap-3">
          <Field name="When">
            <Select value={when} onChange={(event) => setWhen(event.target.value as When)}>
              <option value="now">as soon as possible</option>
              <option value="in">after a delay</option>
              <option value="at">at a time</option>
              {mayRule && <option value="every">again and again</option>}
            </Select>
          </Field>
          {when === 'in' && (
            <Field name="Delay" hint="15m, 3 days, PT2H">
              <TextInput value={delay} onChange={(event) => setDelay(event.target.value)} />
            </Field>
          )}
          {when === 'at' && (
            <Field name="Time" hint={instants.hint}>
              <TextInput type="datetime-local" value={at} onChange={(event) => setAt(event.target.value)} />
            </Field>
          )}
          {when === 'every' && (
            <Field name="Rule, as cron" hint={`In ${here}.`}>
              <TextInput
                value={cron}
                className="font-mono"
                onChange={(event) => setCron(event.target.value)}
              />
            </Field>
          )}
        </div>
        {when === 'every' && (
          <RulePreview rule={cron.trim() === '' ? null : { cron: cron.trim(), timezone: here }} />
        )}
      </div>
    </Dialog>
  );
}
