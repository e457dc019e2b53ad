import { type ReactNode, useState } from 'react';
import { Button, type ButtonKind } from './button.tsx';
import { Dialog } from './dialog.tsx';

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
        <Dialog
          open
          onClose={close}
          title={title}
          actions={
            <>
              <Button onClick={close}>Leave it</Button>
              <Button
                kind={kind === 'plain' ? 'primary' : kind}
                disabled={isPending}
                onClick={() => {
                  onAct();
                  close();
                }}
              >
                {verb}
              </Button>
            </>
          }
        >
          <div className="space-y-2 text-sm">{children}</div>
        </Dialog>
      )}
    </>
  );
}
