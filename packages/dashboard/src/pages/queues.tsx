import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Queue, useQueues, useSend } from '../api/operations.ts';
import { countText } from '../api/page.ts';
import { useMay } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { Loading, NothingYet, Trouble } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { useToasts } from '../ui/toast.tsx';

/** The lanes that jobs wait in. */
export function QueuesPage() {
  const queues = useQueues();
  if (queues.isPending) return <Loading />;
  if (queues.data === undefined)
    return <Trouble error={queues.error} onRetry={() => void queues.refetch()} />;
  return (
    <>
      <PageHead title="Queues" about="What is ready to run, and since when the oldest waits." />
      <Panel>
        {queues.data.data.length === 0 ? (
          <NothingYet title="No queue is known yet." command="duly up --demo">
            A queue appears when a job is ready in it, or when a worker takes from it.
          </NothingYet>
        ) : (
          <Table label="Queues" head={['Queue', 'Task', 'Ready', 'Oldest waits since', '']}>
            {queues.data.data.map((queue) => (
              <QueueRows key={queue.queue} queue={queue} />
            ))}
          </Table>
        )}
      </Panel>
    </>
  );
}

function QueueRows({ queue }: { queue: Queue }) {
  const lanes = queue.lanes.length === 0 ? [null] : queue.lanes;
  return lanes.map((lane, at) => (
    <tr key={lane === null ? '' : `${lane.type}@${lane.version}`}>
      <Cell>
        {at === 0 && (
          <>
            <Link to="/jobs" search={{ q: `queue:${queue.queue}` }} className="font-medium hover:underline">
              {queue.queue}
            </Link>
            {queue.pause !== null && (
              <p className="mt-0.5 text-xs text-warn">
                Paused by {queue.pause.by} <Time at={queue.pause.since_at} />
                {queue.pause.note !== null && `: ${queue.pause.note}`}
              </p>
            )}
          </>
        )}
      </Cell>
      <Cell>{lane?.type ?? <span className="text-ink-faint">nothing ready</span>}</Cell>
      <Cell className="tabular">{lane === null ? '0' : countText(lane.ready)}</Cell>
      <Cell>
        <Time at={lane?.oldest_due_at} />
      </Cell>
      <Cell className="text-right">{at === 0 && <PauseSwitch queue={queue} />}</Cell>
    </tr>
  ));
}

function PauseSwitch({ queue }: { queue: Queue }) {
  const may = useMay('operate');
  const send = useSend();
  const toasts = useToasts();
  const [note, setNote] = useState<string | null>(null);
  if (!may) return null;
  const path = `api/queues/${encodeURIComponent(queue.queue)}`;
  if (queue.pause?.scope === 'queue') {
    return (
      <Button
        disabled={send.isPending}
        onClick={() => send.mutate({ path: `${path}/resume`, body: {} }, { onError: toasts.complain })}
      >
        Resume
      </Button>
    );
  }
  if (queue.paused) return null;
  return (
    <>
      <Button onClick={() => setNote('')}>Pause</Button>
      {note !== null && (
        <Dialog
          open
          onClose={() => setNote(null)}
          title={`Pause ${queue.queue}`}
          actions={
            <Button
              kind="primary"
              onClick={() =>
                send.mutate(
                  { path: `${path}/pause`, body: note === '' ? {} : { note } },
                  { onSuccess: () => setNote(null), onError: toasts.complain },
                )
              }
            >
              Pause
            </Button>
          }
        >
          <p className="mb-3 text-sm text-ink-soft">
            Jobs are still accepted; none of this queue starts until it is resumed. What runs goes on.
          </p>
          <Field name="Why" hint="Shown to everybody who asks why a job waits.">
            <TextInput value={note} onChange={(event) => setNote(event.target.value)} maxLength={1_000} />
          </Field>
        </Dialog>
      )}
    </>
  );
}
