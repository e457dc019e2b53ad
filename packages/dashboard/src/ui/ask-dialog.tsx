import type { ReactNode } from 'react';
import { Button, type ButtonKind } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** The question behind a button, with what follows from it: one may leave it. */
export function AskDialog({
  title,
  verb,
  kind,
  isDisabled,
  onClose,
  onAct,
  children,
}: {
  title: string;
  verb: string;
  kind: ButtonKind;
  isDisabled: boolean;
  onClose: () => void;
  onAct: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button kind={kind} disabled={isDisabled} onClick={onAct}>
            {verb}
          </Button>
        </>
      }
    >
      <div className="space-y-3 text-sm">{children}</div>
    </Dialog>
  );
}
