import { type ReactNode, useState } from 'react';
import { AskDialog } from './ask-dialog.tsx';
import { Button, type ButtonKind } from './button.tsx';

/** A button that says what follows from it, and does it only when it is pressed again. */
export function AskButton({
  verb,
  title,
  kind = 'plain',
  isPending,
  onAct,
  children,
}: {
  verb: string;
  /** The question. */
  title: string;
  kind?: ButtonKind;
  isPending: boolean;
  onAct: () => void;
  /** What follows from it. */
  children: ReactNode;
}) {
  const [isAsked, setAsked] = useState(false);
  const close = () => setAsked(false);
  return (
    <>
      <Button kind={kind} disabled={isPending && !isAsked} onClick={() => setAsked(true)}>
        {verb}
      </Button>
      {isAsked && (
        <AskDialog
          title={title}
          verb={verb}
          kind={kind === 'plain' ? 'primary' : kind}
          isDisabled={isPending}
          onClose={close}
          onAct={() => {
            onAct();
            close();
          }}
        >
          {children}
        </AskDialog>
      )}
    </>
  );
}
