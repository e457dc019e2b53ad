import { useState } from 'react';
import { type Pause, useSend } from '../api/operations.ts';
import { useMay } from '../shell/caller.tsx';
import { Button } from './button.tsx';
import { PauseDialog } from './pause-dialog.tsx';
import { useToasts } from './toast.tsx';

/** What a pause holds, as the API takes it. */
export type PauseTarget = { queue: string } | { type: string } | { all: true };

const abouts = {
  queue: 'Jobs are still accepted; none of this queue starts until it is resumed. What runs goes on.',
  type: 'Jobs are still accepted; none of this type starts until it is resumed. What runs goes on.',
  all: 'Jobs are still accepted and schedules still create them; none starts until it is resumed. What runs goes on.',
};

/** Pauses a queue, a type or everything, or ends its pause. Not shown to those who may not. */
export function PauseSwitch({
  target,
  name,
  pause,
  label = 'Pause',
}: {
  target: PauseTarget;
  name: string;
  /** The pause of just this. */
  pause: Pause | null;
  label?: string;
}) {
  const may = useMay('operate');
  const send = useSend();
  const toasts = useToasts();
  const [isAsked, setAsked] = useState(false);
  if (!may) return null;
  if (pause !== null) {
    return (
      <Button
        disabled={send.isPending}
        onClick={() =>
          send.mutate(
            { path: 'api/pauses/resume', body: target },
            { onSuccess: () => toasts.say(`${name} goes on.`), onError: toasts.complain },
          )
        }
      >
        Resume
      </Button>
    );
  }
  const scope = 'all' in target ? 'all' : 'queue' in target ? 'queue' : 'type';
  return (
    <>
      <Button kind={scope === 'all' ? 'danger' : 'plain'} onClick={() => setAsked(true)}>
        {label}
      </Button>
      {isAsked && (
        <PauseDialog
          title={`Pause ${name}`}
          about={abouts[scope]}
          {...(scope === 'all' ? { word: 'pause' } : {})}
          isPending={send.isPending}
          onPause={(words) =>
            send.mutate(
              { path: 'api/pauses', body: { ...target, ...words } },
              { onSuccess: () => setAsked(false), onError: toasts.complain },
            )
          }
          onClose={() => setAsked(false)}
        />
      )}
    </>
  );
}
