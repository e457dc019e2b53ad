import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type Job, useDead, useDeadAction } from '../api/jobs.ts';
import { countText } from '../api/page.ts';
import { type ErrorGroup, groupByCause } from '../search/error-groups.ts';
import { useMay } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { Loading, NothingYet, Trouble } from '../ui/states.tsx';
import { useToasts } from '../ui/toast.tsx';

/** What failed for good and waits for a person. */
export function DeadPage() {
  const dead = useDead({});
  const may = useMay('operate');
  const groups = useMemo(() => groupByCause(dead.data?.data ?? []), [dead.data]);
  if (dead.isPending) return <Loading />;
  if (dead.data === undefined) return <Trouble error={dead.error} onRetry={() => void dead.refetch()} />;
  const { total } = dead.data;
  return (
    <>
      <PageHead
        title="Dead letters"
        about={
          total === undefined
            ? undefined
            : `${countText(total)} wait for a person. They are kept apart from history.`
        }
        actions={
          may && total !== undefined && total.count > 0 ? <AllActions count={countText(total)} /> : undefined
        }
      />
      {groups.length === 0 ? (
        <Panel>
          <NothingYet title="Nothing is dead.">
            A job that failed and has no attempt left comes here.
          </NothingYet>
        </Panel>
      ) : (
        <div className="space-y-4">
          {groups.map((group) => (
            <Group key={group.cause} group={group} />
          ))}
        </div>
      )}
    </>
  );
}

function Group({ group }: { group: ErrorGroup<Job> }) {
  const may = useMay('operate');
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? group.jobs : group.jobs.slice(0, 3);
  const ids = group.jobs.map(({ id }) => id);
  return (
    <Panel
      title={
        <>
          {group.type} <span className="font-normal text-ink-soft">{group.jobs.length} ×</span>{' '}
          <span className="text-bad">{group.name}</span>
        </>
      }
      actions={
        may && (
          <>
            <Act
              verb="replay"
              ids={ids}
              label={group.jobs.length === 1 ? 'Replay' : `Replay ${group.jobs.length}`}
            />
            <Act
              verb="discard"
              ids={ids}
              label={group.jobs.length === 1 ? 'Discard' : `Discard ${group.jobs.length}`}
            />
          </>
        )
      }
    >
      <p className="px-4 py-2.5 font-mono text-xs break-words text-ink-soft">{group.example}</p>
      <ul className="divide-y divide-line border-t border-line">
        {shown.map((job) => (
          <li key={job.id} className="flex flex-wrap items-center gap-3 px-4 py-2 text-sm">
            <Link
              to="/jobs/$id"
              params={{ id: job.id }}
              className="font-mono text-xs text-accent hover:underline"
            >
              {job.id}
            </Link>
            <span className="min-w-0 flex-1 truncate font-mono text-xs text-ink-soft">
              {JSON.stringify(job.input)}
            </span>
            <Time at={job.completed_at} className="text-xs text-ink-faint" />
            {may && group.jobs.length > 1 && (
              <span className="flex gap-2">
                <Act verb="replay" ids={[job.id]} label="Replay" />
                <Act verb="discard" ids={[job.id]} label="Discard" />
              </span>
            )}
          </li>
        ))}
      </ul>
      {group.jobs.length > 3 && (
        <button
          type="button"
          onClick={() => setOpen(!isOpen)}
          className="w-full border-t border-line px-4 py-2 text-left text-xs text-ink-soft hover:bg-raised"
        >
          {isOpen ? 'Show fewer' : `Show all ${group.jobs.length}`}
        </button>
      )}
    </Panel>
  );
}

const done = { replay: 'waiting to run again', discard: 'off the list' };

function Act({ verb, ids, label }: { verb: 'replay' | 'discard'; ids: string[]; label: string }) {
  const action = useDeadAction(verb);
  const toasts = useToasts();
  return (
    <Button
      kind={verb === 'discard' ? 'danger' : 'plain'}
      disabled={action.isPending}
      onClick={() =>
        action.mutate(
          { filter: { ids } },
          { onSuccess: ({ changed }) => toasts.say(`${changed} ${done[verb]}.`), onError: toasts.complain },
        )
      }
    >
      {label}
    </Button>
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
                    onSuccess: ({ changed }) => toasts.say(`${changed} ${done[asked]}.`),
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
            <Field
              name="Type “discard” to go on"
              hint="They stay in history for their retention, and nobody is reminded of them."
            >
              <TextInput value={word} onChange={(event) => setWord(event.target.value)} />
            </Field>
          )}
        </Dialog>
      )}
    </>
  );
}
