import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useChange } from '../api/change.ts';
import { request } from '../api/request.ts';
import { AskDialog } from './ask-dialog.tsx';
import { Button } from './button.tsx';
import { useToasts } from './toast.tsx';
import { WordField } from './word-field.tsx';

/** A button that takes something away: it asks first, and says what follows from it. `word` is typed first where very much would go. */
export function DeleteButton({
  verb,
  title,
  path,
  word,
  done,
  onDone,
  children,
}: {
  verb: string;
  title: string;
  /** What is deleted at the server. */
  path: string;
  word?: string;
  /** What is said afterwards. */
  done?: string;
  /** Where to go from a page of what is no more. */
  onDone?: () => Promise<void>;
  /** What follows from it. */
  children: ReactNode;
}) {
  const queries = useQueryClient();
  const toasts = useToasts();
  const [isAsked, setAsked] = useState(false);
  const [typed, setTyped] = useState('');
  const close = () => {
    setAsked(false);
    setTyped('');
  };
  const remove = useChange({
    mutationFn: () => request('DELETE', path),
    onSuccess: async () => {
      close();
      if (done !== undefined) toasts.say(done);
      // Left first: a page that reads again what it has just deleted would be refused.
      await onDone?.();
      return queries.invalidateQueries();
    },
    onError: toasts.complain,
  });
  return (
    <>
      <Button kind="danger" onClick={() => setAsked(true)}>
        {verb}
      </Button>
      {isAsked && (
        <AskDialog
          title={title}
          verb={verb}
          kind="danger"
          isDisabled={remove.isPending || (word !== undefined && typed !== word)}
          onClose={close}
          onAct={() => remove.mutate()}
        >
          {children}
          {word !== undefined && <WordField word={word} typed={typed} onType={setTyped} />}
        </AskDialog>
      )}
    </>
  );
}
