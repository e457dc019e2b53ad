import { useState } from 'react';
import { useBulk } from '../../api/jobs.ts';
import type { Count } from '../../api/page.ts';
import { bulkFilterOf } from '../../search/bulk-filter.ts';
import { useMay } from '../../shell/caller.tsx';
import { Button } from '../../ui/button.tsx';
import { counted } from '../../ui/counted.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { WordField } from '../../ui/word-field.tsx';

type Action = 'cancel' | 'retry';

const words: Record<Action, { verb: string; done: string }> = {
  cancel: { verb: 'Cancel', done: 'cancelled' },
  retry: { verb: 'Retry', done: 'waiting to run again' },
};

/** More than so many are cancelled only after a word was typed. */
const cancelledUntypedMax = 100;

/** Acts on everything that the search finds: first it is counted, then asked. */
export function BulkActions({ search, total }: { search: string; total: Count | undefined }) {
  const may = useMay('operate');
  const bulk = useBulk();
  const toasts = useToasts();
  const [asked, setAsked] = useState<{ action: Action; changed: number; refused: number } | null>(null);
  const [typed, setTyped] = useState('');
  const close = () => {
    setAsked(null);
    setTyped('');
  };
  if (!may || search === '' || total === undefined || total.count === 0) return null;

  // The buttons stay enabled while it is counted: one that is not has no focus to come back to.
  const ask = (action: Action) =>
    bulk.isPending ||
    bulk.mutate(
      { action, filter: bulkFilterOf(search), dry_run: true },
      {
        onSuccess: ({ changed, refused }) => setAsked({ action, changed, refused }),
        onError: toasts.complain,
      },
    );
  const act = ({ action }: { action: Action }) =>
    bulk.mutate(
      { action, filter: bulkFilterOf(search), dry_run: false },
      {
        onSuccess: ({ changed }) => toasts.say(`${counted(changed, 'job')} ${words[action].done}.`),
        onError: toasts.complain,
        onSettled: close,
      },
    );
  const mustType = asked?.action === 'cancel' && asked.changed > cancelledUntypedMax;
  return (
    <>
      <Button onClick={() => ask('retry')}>Retry all found</Button>
      <Button kind="danger" onClick={() => ask('cancel')}>
        Cancel all found
      </Button>
      {asked !== null && (
        <Dialog
          open
          onClose={close}
          title={`${words[asked.action].verb} ${counted(asked.changed, 'job')}?`}
          actions={
            <>
              <Button onClick={close}>Leave them</Button>
              <Button
                kind={asked.action === 'cancel' ? 'danger' : 'primary'}
                disabled={asked.changed === 0 || bulk.isPending || (mustType && typed !== 'cancel')}
                onClick={() => act(asked)}
              >
                {words[asked.action].verb} {asked.changed.toLocaleString('en')}
              </Button>
            </>
          }
        >
          <p>
            The search <code className="font-mono text-sm">{search}</code> finds{' '}
            <strong>{asked.changed.toLocaleString('en')}</strong> that can be changed
            {asked.refused > 0 && (
              <> and {asked.refused.toLocaleString('en')} whose status does not allow it</>
            )}
            .
          </p>
          {mustType && (
            <div className="mt-3">
              <WordField word="cancel" typed={typed} onType={setTyped} />
            </div>
          )}
        </Dialog>
      )}
    </>
  );
}
