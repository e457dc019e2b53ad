import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  causeIn,
  causeKey,
  type DeadGroup,
  type ErrorCause,
  inputText,
  useDeadAction,
  useDeadGroups,
} from '../api/jobs.ts';
import { countText } from '../api/page.ts';
import { useHeld } from '../live/held.ts';
import { searchFor } from '../search/job-search.ts';
import { useMay } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, Unread } from '../ui/states.tsx';
import { useToasts } from '../ui/toast.tsx';
import { WordField } from '../ui/word-field.tsx';

/** So many groups are shown at first, and more each time. */
const groupStep = 25;
/** As many as the server tells. */
const groupCountMax = 1_000;

/** What failed for good and waits for a person. */
export function DeadPage() {
  const [groupMax, setGroupMax] = useState(groupStep);
  const dead = useDeadGroups(groupMax);
  const held = useHeld(dead.data, groupMax);
  const may = useMay('operate');
  if (held.data === undefined) return <Unread isPage query={dead} />;
  const { data: groups, group_count: groupCount, looked_at: total } = held.data;
  return (
    <>
      <PageHead
        title="Dead letters"
        about={`${countText(total)} wait for a person. They are kept apart from history.${total.capped ? ` Grouped are the newest ${total.count.toLocaleString('en')}; what is done to a group is done to all of it.` : ''}`}
        actions={may && total.count > 0 ? <AllActions count={countText(total)} /> : undefined}
      />
      {groups.length === 0 ? (
        <Panel>
          <NothingYet title="Nothing is dead.">
            A job that failed and has no attempt left comes here.
          </NothingYet>
        </Panel>
      ) : (
        <div className="space-y-4" {...held.pointer}>
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
  return (
    <Panel
      title={
        <>
          {group.type} <span className="font-normal text-ink-soft">{text} ×</span>{' '}
          <span className="text-bad">{group.name}</span>
        </>
      }
      actions={
        may && (
          <>
            <Act
              verb="replay"
              which={{ group: causeIn(group) }}
              count={count}
              label={count === 1 ? 'Replay' : `Replay ${text}`}
            />
            <Act
              verb="discard"
              which={{ group: causeIn(group) }}
              count={count}
              label={count === 1 ? 'Discard' : `Discard ${text}`}
            />
          </>
        )
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
            {may && count > 1 && (
              <span className="flex gap-2">
                <Act verb="replay" which={{ filter: { ids: [job.id] } }} count={1} label="Replay" />
                <Act verb="discard" which={{ filter: { ids: [job.id] } }} count={1} label="Discard" />
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

const done = { replay: 'waiting to run again', discard: 'off the list' };
/** More than so many are discarded only after a question. */
const discardedUnaskedMax = 20;

function Act({
  verb,
  which,
  count,
  label,
}: {
  verb: 'replay' | 'discard';
  which: { group: ErrorCause } | { filter: { ids: string[] } };
  count: number;
  label: string;
}) {
  const action = useDeadAction(verb);
  const toasts = useToasts();
  const [isAsked, setAsked] = useState(false);
  const act = () =>
    action.mutate(which, {
      onSuccess: ({ changed }) => toasts.say(`${changed.toLocaleString('en')} ${done[verb]}.`),
      onError: toasts.complain,
      onSettled: () => setAsked(false),
    });
  const mustAsk = verb === 'discard' && count > discardedUnaskedMax;
  return (
    <>
      <Button
        kind={verb === 'discard' ? 'danger' : 'plain'}
        disabled={action.isPending}
        onClick={mustAsk ? () => setAsked(true) : act}
      >
        {label}
      </Button>
      {isAsked && (
        <Dialog
          open
          onClose={() => setAsked(false)}
          title={`${label}?`}
          actions={
            <>
              <Button onClick={() => setAsked(false)}>Leave them</Button>
              <Button kind="danger" disabled={action.isPending} onClick={act}>
                {label}
              </Button>
            </>
          }
        >
          <p className="text-sm">They stay in history for their retention, and nobody is reminded of them.</p>
        </Dialog>
      )}
    </>
  );
}

/** All at once. Discarding all asks for a word, because nobody will look at them again. */
function AllActions({ count }: { count: string }) {
  const replay = useDeadAction('replay');
  const discard = useDeadAction('discard');
  const toasts = useToasts();
  const [asked, setAsked] = useState<'replay' | 'discard' | null>(null);
  const [word, setWord] = useState('');
  const action = asked === 'replay' ? replay : discard;
  const close = () => {
    setAsked(null);
    setWord('');
  };
  return (
    <>
      <Button onClick={() => setAsked('replay')}>Replay all</Button>
      <Button kind="danger" onClick={() => setAsked('discard')}>
        Discard all
      </Button>
      {asked !== null && (
        <Dialog
          open
          onClose={close}
          title={asked === 'replay' ? `Replay all ${count}?` : `Discard all ${count}?`}
          actions={
            <Button
              kind={asked === 'replay' ? 'primary' : 'danger'}
              disabled={action.isPending || (asked === 'discard' && word !== 'discard')}
              onClick={() =>
                action.mutate(
                  { all: true },
                  {
                    onSuccess: ({ changed }) => toasts.say(`${changed.toLocaleString('en')} ${done[asked]}.`),
                    onError: toasts.complain,
                    onSettled: close,
                  },
                )
              }
            >
              {asked === 'replay' ? 'Replay all' : 'Discard all'}
            </Button>
          }
        >
          {asked === 'replay' ? (
            <p className="text-sm">Each runs again with its old input. What fails again comes back here.</p>
          ) : (
            <WordField
              word="discard"
              typed={word}
              onType={setWord}
              hint="They stay in history for their retention, and nobody is reminded of them."
            />
          )}
        </Dialog>
      )}
    </>
  );
}
