import type { Count } from '../../api/page.ts';
import { filterWords, type JobSearch } from '../../search/job-search.ts';
import { useMay } from '../../shell/caller.tsx';
import { useBulkDialog } from '../../ui/bulk-dialog.tsx';
import { Button } from '../../ui/button.tsx';

const words = {
  cancel: { verb: 'Cancel', noun: 'job', done: 'cancelled', isDanger: true },
  retry: { verb: 'Retry', noun: 'job', done: 'waiting to run again', isDanger: false },
};

/** Acts on everything that the search finds, after a dialog that shows what that is. */
export function BulkActions({
  search: { filter, problems },
  total,
  isEdited,
}: {
  search: JobSearch;
  total: Count | undefined;
  /** The search field holds something else than what was searched. */
  isEdited: boolean;
}) {
  const may = useMay('operate');
  const { ask, dialog } = useBulkDialog();
  const which = filterWords(filter);
  const isOffered = may && problems.length === 0 && which.length > 0 && (total?.count ?? 0) > 0;
  const askTo = (action: 'cancel' | 'retry') =>
    ask({ path: 'api/jobs/bulk', action, filter }, { ...words[action], which });
  const title = isEdited ? 'The search was edited: press Enter in it first.' : undefined;
  return (
    <>
      {isOffered && (
        <>
          <Button disabled={isEdited} title={title} onClick={() => askTo('retry')}>
            Retry all found
          </Button>
          <Button kind="danger" disabled={isEdited} title={title} onClick={() => askTo('cancel')}>
            Cancel all found
          </Button>
        </>
      )}
      {dialog}
    </>
  );
}
