import { useState } from 'react';
import { useTypedInstants } from '../time/typed-instant.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field, TextInput } from './field.tsx';
import { WordField } from './word-field.tsx';

/** How long and why, as the API takes it. */
export interface PauseWords {
  note?: string;
  until?: string;
}

/** Asks why and for how long something is paused. `word` is typed first where very much would stop. */
export function PauseDialog({
  title,
  about,
  word,
  isPending,
  onPause,
  onClose,
}: {
  title: string;
  about: string;
  word?: string;
  isPending: boolean;
  onPause: (words: PauseWords) => void;
  onClose: () => void;
}) {
  const [note, setNote] = useState('');
  const [until, setUntil] = useState('');
  const instants = useTypedInstants();
  const [typed, setTyped] = useState('');
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      actions={
        <Button
          kind={word === undefined ? 'primary' : 'danger'}
          disabled={isPending || (word !== undefined && typed !== word)}
          onClick={() =>
            onPause({
              ...(note === '' ? {} : { note }),
              ...(until === '' ? {} : { until: instants.read(until) }),
            })
          }
        >
          Pause
        </Button>
      }
    >
      <div className="space-y-3">
        <p className="text-sm text-ink-soft">{about}</p>
        <Field name="Why" hint="Shown wherever somebody asks.">
          <TextInput value={note} onChange={(event) => setNote(event.target.value)} maxLength={1_000} />
        </Field>
        <Field name="Until" hint={`Left empty: until somebody resumes it. ${instants.hint}`}>
          <TextInput type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} />
        </Field>
        {word !== undefined && <WordField word={word} typed={typed} onType={setTyped} />}
      </div>
    </Dialog>
  );
}
