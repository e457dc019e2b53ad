import { useId } from 'react';
import { useWorkers } from '../api/operations.ts';
import { Field, TextInput } from './field.tsx';

/** The name of a task: one that a worker handles, or any other, which then waits for a worker. */
export function TaskInput({ value, onChange }: { value: string; onChange: (type: string) => void }) {
  const list = useId();
  const workers = useWorkers();
  // Duly's own tasks are made by Duly.
  const types = [...new Set(workers.data?.data.flatMap(({ tasks }) => tasks.map(({ type }) => type)))]
    .filter((type) => !type.startsWith('duly:'))
    .sort();
  const isUnknown = value !== '' && workers.data !== undefined && !types.includes(value);
  return (
    <Field
      name="Task"
      hint={isUnknown ? 'No worker handles this task now: its jobs wait until one does.' : undefined}
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
