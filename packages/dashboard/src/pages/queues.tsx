import { Link } from '@tanstack/react-router';
import { type Pause, pauseName, type Queue, usePauses, useQueues } from '../api/operations.ts';
import { countText } from '../api/page.ts';
import { searchFor } from '../search/job-search.ts';
import { Time } from '../time/time.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { PauseSwitch, type PauseTarget } from '../ui/pause-switch.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';

/** The lanes that jobs wait in. */
export function QueuesPage() {
  const queues = useQueues();
  const paused = usePauses().data?.data ?? [];
  if (queues.data === undefined) return <QueryState isPage query={queues} />;
  return (
    <>
      <PageHead
        title="Queues"
        about="What is ready to run, and since when the oldest waits."
        actions={
          paused.some(({ scope }) => scope === 'all') ? undefined : (
            <PauseSwitch target={{ all: true }} name="everything" pause={null} label="Pause everything" />
          )
        }
      />
      <Pauses pauses={paused} />
      <Panel>
        {queues.data.data.length === 0 ? (
          <NothingYet title="No queue is known yet." command="duly up --demo">
            A queue appears when a job is ready in it, or when a worker takes from it.
          </NothingYet>
        ) : (
          <Table label="Queues" head={['Queue', 'Type', 'Ready', 'Oldest waits since', '']}>
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
      <Cell isLong>
        {at === 0 && (
          <>
            <Link
              to="/jobs"
              search={{ q: searchFor({ queue: queue.queue }) }}
              className="font-medium hover:underline"
            >
              {queue.queue}
            </Link>
            {queue.pause !== null && <p className="mt-0.5 text-xs text-warn">paused</p>}
          </>
        )}
      </Cell>
      <Cell isLong>{lane?.type ?? <span className="text-ink-faint">nothing ready</span>}</Cell>
      <Cell className="tabular">{lane === null ? '0' : countText(lane.ready)}</Cell>
      <Cell className="whitespace-nowrap">
        <Time at={lane?.oldest_due_at} />
      </Cell>
      <Cell className="text-right">
        {at === 0 && !queue.paused && (
          <PauseSwitch target={{ queue: queue.queue }} name={queue.queue} pause={null} />
        )}
      </Cell>
    </tr>
  ));
}

/** Everything that is paused, who did it and why, with the way back. */
function Pauses({ pauses }: { pauses: readonly Pause[] }) {
  if (pauses.length === 0) return null;
  return (
    <Panel title="Paused" className="mb-4 border-warn/40">
      <ul className="divide-y divide-line">
        {pauses.map((pause) => {
          const name = pauseName(pause);
          const target =
            pause.scope === 'all' ? ({ all: true } as const) : { [pause.scope]: pause.name as string };
          return (
            <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
              <span className="font-medium text-warn first-letter:uppercase">{name}</span>
              <span className="text-ink-soft">
                by {pause.by} <Time at={pause.since_at} />
                {pause.until_at !== null && (
                  <>
                    , ends <Time at={pause.until_at} />
                  </>
                )}
              </span>
              {pause.note !== null && <span>{pause.note}</span>}
              <span className="ml-auto">
                <PauseSwitch target={target as PauseTarget} name={name} pause={pause} />
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
