import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Job } from '../../api/jobs.ts';
import { readJsonText } from '../../api/json-text.ts';
import { useSend } from '../../api/operations.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { TaskInput } from '../../ui/task-input.tsx';
import { useToasts } from '../../ui/toast.tsx';

type When = 'now' | 'in' | 'at';

/** A job from the dashboard: which task, with what, when. Rules that repeat are made among the schedules. */
export function NewJob({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const send = useSend<Job>();
  const toasts = useToasts();
  const [type, setType] = useState('');
  const [input, setInput] = useState('null');
  const [when, setWhen] = useState<When>('now');
  const [delay, setDelay] = useState('15m');
  const [at, setAt] = useState('');
  const [problem, setProblem] = useState<string | null>(null);

  const make = () => {
    const read = readJsonText(input);
    if ('problem' in read) return setProblem(read.problem);
    const due = when === 'in' ? { delay } : when === 'at' ? { run_at: new Date(at).toISOString() } : {};
    send.mutate(
      { path: 'api/jobs', body: { type, input: read.value, ...due } },
      {
        onSuccess: ({ id }) => {
          onClose();
          void navigate({ to: '/jobs/$id', params: { id } });
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
          onClick={make}
        >
          Make it
        </Button>
      }
    >
      <div className="space-y-3">
        <TaskInput value={type} onChange={setType} />
        <Field name="Input, as JSON" problem={problem}>
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
        <div className="grid grid-cols-2 gap-3">
          <Field name="When">
            <Select value={when} onChange={(event) => setWhen(event.target.value as When)}>
              <option value="now">as soon as possible</option>
              <option value="in">after a delay</option>
              <option value="at">at a time</option>
            </Select>
          </Field>
          {when === 'in' && (
            <Field name="Delay" hint="15m, 3 days, PT2H">
              <TextInput value={delay} onChange={(event) => setDelay(event.target.value)} />
            </Field>
          )}
          {when === 'at' && (
            <Field name="Time" hint="In your own time zone.">
              <TextInput type="datetime-local" value={at} onChange={(event) => setAt(event.target.value)} />
            </Field>
          )}
        </div>
      </div>
    </Dialog>
  );
}
