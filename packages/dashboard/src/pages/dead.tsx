import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  causeIn,
  causeKey,
  causeWords,
  type DeadGroup,
  inputText,
  useDeadAction,
  useDeadGroups,
} from '../api/jobs.ts';
import { countText } from '../api/page.ts';
import { usePausedList } from '../live/paused-list.ts';
import { searchFor } from '../search/job-search.ts';
import { useMay } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { useBulkDialog } from '../ui/bulk-dialog.tsx';
import { Button } from '../ui/button.tsx';
import { counted } from '../ui/counted.ts';
import { PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';
import { useToasts } from '../ui/toast.tsx';

/** So many groups are shown at first, and more each time. */
const groupStep = 25;
/** As many as the server tells. */
const groupCountMax = 1_000;

/** What failed for good and waits for a person. */
export function DeadPage() {
  const [groupMax, setGroupMax] = useState(groupStep);
  const dead = useDeadGroups(groupMax);
  const paused = usePausedList(dead.data, groupMax);
  const may = useMay('operate');
  if (paused.data === undefined) return <QueryState isPage query={dead} />;
  const { data: groups, group_count: groupCount, looked_at: total } = paused.data;
  return (
    <>
      <PageHead
        title="Dead letters"
        about={`${countText(total)} wait for a person. They are stored apart from history.${total.capped ? ` Grouped are the newest ${total.count.toLocaleString('en')}; what is done to a group is done to all of it.` : ''}`}
        actions={may && total.count > 0 ? <AllActions /> : undefined}
      />
      {groups.length === 0 ? (
        <Panel>
          <NothingYet title="Nothing is dead.">
            A job that failed and has no attempt left comes here.
          </NothingYet>
        </Panel>
      ) : (
        <div className="space-y-4" {...paused.pointer}>
          {groups.map((group) => (
            <Group key={causeKey(group)} group={group} isAll={!total.capped} />
          ))}
          {groupCount > groups.length && groups.length < groupCountMax && (
            <Button disabled={dead.isPlaceholderData} onClick={() => setGroupMax(groupMax + groupStep)}>
              Show more of {groupCount.toLocaleString('en')} causes
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function Group({ group, isAll }: { group: DeadGroup; isAll: boolean }) {
  const may = useMay('operate');
  const { count } = group;
  const text = `${count.toLocaleString('en')}${isAll ? '' : '+'}`;
  const [newest] = group.jobs;
  const single = count === 1 && isAll && newest !== undefined ? newest : null;
  return (
    <Panel
      title={
        <>
          {group.type} <span className="font-normal text-ink-soft">{text} ×</span>{' '}
          <span className="text-bad">{group.name}</span>
        </>
      }
      actions={
        may &&
        (single === null ? (
          <ActOnGroup group={group} text={text} />
        ) : (
          <>
            <ActOnOne verb="retry" id={single.id} />
            <ActOnOne verb="discard" id={single.id} />
          </>
        ))
      }
    >
      <p className="px-4 pt-2.5 font-mono text-xs break-words text-ink-soft">{group.example}</p>
      <p className="px-4 pt-1 pb-2.5 text-xs text-ink-faint">
        {count > 1 && (
          <>
            the first <Time at={group.first_at} />, the last{' '}
          </>
        )}
        <Time at={group.last_at} />
      </p>
      <ul className="divide-y divide-line border-t border-line">
        {group.jobs.map((job) => (
          <li key={job.id} className="flex flex-wrap items-center gap-3 px-4 py-2 text-sm">
            <Link
              to="/jobs/$id"
              params={{ id: job.id }}
              className="font-mono text-xs text-accent hover:underline"
            >
              {job.id}
            </Link>
            <span className="min-w-0 flex-1 truncate font-mono text-xs text-ink-soft">
              {inputText(job.input)}
            </span>
            <Time at={job.completed_at} className="text-xs text-ink-faint" />
            {may && single === null && (
              <span className="flex gap-2">
                <ActOnOne verb="retry" id={job.id} />
                <ActOnOne verb="discard" id={job.id} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {count > group.jobs.length && (
        <Link
          to="/jobs"
          search={{ q: searchFor({ dead: 'true', type: group.type }) }}
          className="block border-t border-line px-4 py-2 text-xs text-ink-soft hover:bg-raised"
        >
          All dead letters of {group.type}
        </Link>
      )}
    </Panel>
  );
}

const words = {
  retry: {
    verb: 'Retry',
    noun: 'dead letter',
    done: 'waiting to run again',
    isDanger: false,
    about: 'Each runs again with its old input. Jobs that fail again come back here.',
  },
  discard: {
    verb: 'Discard',
    noun: 'dead letter',
    done: 'off the list',
    isDanger: true,
    about: 'They stay in history for their retention, and no alert reminds of them.',
  },
};

/** Acts on one dead letter, at once. */
function ActOnOne({ verb, id }: { verb: 'retry' | 'discard'; id: string }) {
  const action = useDeadAction(verb);
  const toasts = useToasts();
  return (
    <Button
      kind={verb === 'discard' ? 'danger' : 'plain'}
      disabled={action.isPending}
      onClick={() =>
        action.mutate(id, {
          onSuccess: ({ changed }) => toasts.say(`${counted(changed, 'dead letter')} ${words[verb].done}.`),
          onError: toasts.complain,
        })
      }
    >
      {words[verb].verb}
    </Button>
  );
}

/** Acts on a group, after a dialog that shows what that is. */
function ActOnGroup({ group, text }: { group: DeadGroup; text: string }) {
  const { ask, dialog } = useBulkDialog();
  const askTo = (verb: 'retry' | 'discard') =>
    ask(
      { path: `api/dead/${verb}`, which: { group: causeIn(group) } },
      { ...words[verb], which: causeWords(group) },
    );
  return (
    <>
      <Button onClick={() => askTo('retry')}>Retry {text}</Button>
      <Button kind="danger" onClick={() => askTo('discard')}>
        Discard {text}
      </Button>
      {dialog}
    </>
  );
}

/** Acts on all of them. Discarding asks for a word: afterwards nothing reminds of them. */
function AllActions() {
  const { ask, dialog } = useBulkDialog();
  return (
    <>
      <Button
        onClick={() => ask({ path: 'api/dead/retry', which: { all: true } }, { ...words.retry, which: [] })}
      >
        Retry all
      </Button>
      <Button
        kind="danger"
        onClick={() =>
          ask(
            { path: 'api/dead/discard', which: { all: true } },
            { ...words.discard, which: [], typed: 'discard' },
          )
        }
      >
        Discard all
      </Button>
      {dialog}
    </>
  );
}
