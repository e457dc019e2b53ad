import { Link } from '@tanstack/react-router';
import { causeIn, causeKey, causeWords, useDeadGroups } from '../../api/jobs.ts';
import { usePausedList } from '../../live/paused-list.ts';
import { useMay } from '../../shell/caller.tsx';
import { Time } from '../../time/time.tsx';
import { useBulkDialog } from '../../ui/bulk-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { QueryState } from '../../ui/states.tsx';

const shownCount = 6;

const words = { verb: 'Retry', noun: 'dead letter', done: 'waiting to run again', isDanger: false };

/** What failed for good, by cause. */
export function WentWrong() {
  const dead = useDeadGroups(shownCount);
  const may = useMay('operate');
  const { ask, dialog } = useBulkDialog();
  const paused = usePausedList(dead.data);
  const groups = paused.data?.data ?? [];
  return (
    <Panel
      {...paused.pointer}
      title="What went wrong"
      actions={
        groups.length > 0 && (
          <Link to="/dead" className="text-xs text-accent hover:underline">
            {(paused.data?.group_count ?? 0) > groups.length
              ? `All ${paused.data?.group_count.toLocaleString('en')} causes`
              : 'All dead letters'}
          </Link>
        )
      }
    >
      {paused.data === undefined ? (
        <QueryState query={dead} />
      ) : groups.length === 0 ? (
        <p className="px-4 py-6 text-center text-sm text-ink-faint">Nothing has failed for good.</p>
      ) : (
        <ul className="divide-y divide-line">
          {groups.map((group) => (
            <li key={causeKey(group)} className="flex items-center gap-3 px-4 py-2.5">
              <span className="tabular min-w-8 text-right text-lg font-semibold text-bad">
                {group.count.toLocaleString('en')}
              </span>
              <div className="min-w-0 flex-1">
                <p className="truncate text-sm font-medium">{group.type}</p>
                <p className="truncate text-xs text-ink-soft" title={group.example}>
                  {group.example}
                </p>
              </div>
              <Time at={group.last_at} className="shrink-0 text-xs text-ink-faint" />
              {may && (
                <Button
                  onClick={() =>
                    ask(
                      { path: 'api/dead/retry', which: { group: causeIn(group) } },
                      { ...words, which: causeWords(group) },
                    )
                  }
                >
                  Retry
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {dialog}
    </Panel>
  );
}
