import { useId } from 'react';
import { useTasks } from '../api/operations.ts';
import { Field, TextInput } from './field.tsx';

/** The type of a job: a task that a worker handles, or any other, whose jobs wait for a worker. */
export function JobTypeInput({ value, onChange }: { value: string; onChange: (type: string) => void }) {
  const list = useId();
  const tasks = useTasks();
  const types = tasks.data?.data.map(({ type }) => type) ?? [];
  const handled = tasks.data?.data.find(({ type }) => type === value)?.workers ?? 0;
  const isUnknown = value !== '' && tasks.data !== undefined && handled === 0;
  return (
    <Field
      name="Type"
      hint={isUnknown ? 'No worker handles this type now: its jobs wait until one does.' : undefined}
    >
      <TextInput
        list={list}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        placeholder={types[0] ?? ''}
      />
      <datalist id={list}>
        {types.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </Field>
  );
}
