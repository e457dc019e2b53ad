import { useState } from 'react';
import { useBulk } from '../../api/jobs.ts';
import type { Count } from '../../api/page.ts';
import { bulkFilterOf } from '../../search/bulk-filter.ts';
import { useMay } from '../../shell/caller.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toast.tsx';

type Action = 'cancel' | 'retry';

const words: Record<Action, { verb: string; done: string }> = {
  cancel: { verb: 'Cancel', done: 'cancelled' },
  retry: { verb: 'Retry', done: 'waiting to run again' },
};

/** Acts on everything that the search finds: first it is counted, then asked. */
export function BulkActions({ search, total }: { search: string; total: Count | undefined }) {
  const may = useMay('operate');
  const bulk = useBulk();
  const toasts = useToasts();
  const [asked, setAsked] = useState<{ action: Action; changed: number; refused: number } | null>(null);
  if (!may || search === '' || total === undefined || total.count === 0) return null;

  const ask = (action: Action) =>
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
        onSuccess: ({ changed }) => toasts.say(`${changed.toLocaleString('en')} jobs ${words[action].done}.`),
        onError: toasts.complain,
        onSettled: () => setAsked(null),
      },
    );
  return (
    <>
      <Button onClick={() => ask('retry')} disabled={bulk.isPending}>
        Retry all found
      </Button>
      <Button kind="danger" onClick={() => ask('cancel')} disabled={bulk.isPending}>
        Cancel all found
      </Button>
      {asked !== null && (
        <Dialog
          open
          onClose={() => setAsked(null)}
          title={`${words[asked.action].verb} ${asked.changed.toLocaleString('en')} jobs?`}
          actions={
            <>
              <Button onClick={() => setAsked(null)}>Leave them</Button>
              <Button
                kind={asked.action === 'cancel' ? 'danger' : 'primary'}
                disabled={asked.changed === 0 || bulk.isPending}
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
        </Dialog>
      )}
    </>
  );
}
