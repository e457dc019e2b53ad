import { useSend, useWorkers, type Worker } from '../api/operations.ts';
import { useMay } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { AskButton } from '../ui/ask-button.tsx';
import { counted } from '../ui/counted.ts';
import { PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { useToasts } from '../ui/toast.tsx';

/** The processes that do the work. */
export function NodesPage() {
  const workers = useWorkers();
  if (workers.data === undefined) return <QueryState isPage query={workers} />;
  return (
    <>
      <PageHead
        title="Nodes"
        about="Every process that sends heartbeats, what it may run and what it runs now."
      />
      <Panel>
        {workers.data.data.length === 0 ? (
          <NothingYet title="No node is live." command="duly worker">
            Jobs are accepted and stored; they start when a node that runs them comes.
          </NothingYet>
        ) : (
          <Table label="Nodes" head={['Node', 'Roles', 'Running', 'Tasks', 'Last heartbeat', '']}>
            {workers.data.data.map((worker) => (
              <NodeRow key={worker.id} worker={worker} />
            ))}
          </Table>
        )}
      </Panel>
    </>
  );
}

function NodeRow({ worker }: { worker: Worker }) {
  const may = useMay('operate');
  const send = useSend();
  const toasts = useToasts();
  const isWorker = worker.roles.includes('worker');
  const trouble = worker.silent
    ? 'It has missed a heartbeat, and may be gone.'
    : isWorker
      ? worker.not_ready
      : null;
  return (
    <tr>
      <Cell>
        <p className="font-medium">
          {worker.host} <span className="font-normal text-ink-faint">pid {worker.pid}</span>
        </p>
        <p className="font-mono text-xs text-ink-faint">{worker.id}</p>
        <p className="text-xs text-ink-soft">
          {worker.app}
          {worker.release !== null && ` ${worker.release}`}, up since <Time at={worker.started_at} />
        </p>
        {trouble !== null && <p className="mt-0.5 text-xs text-warn">{trouble}</p>}
      </Cell>
      <Cell>{worker.roles.join(', ')}</Cell>
      <Cell className="tabular">
        {worker.running} of {worker.concurrency}
      </Cell>
      <Cell isLong className="sm:max-w-72">
        <span className="text-ink-soft">{worker.tasks.map(({ type }) => type).join(', ') || '–'}</span>
        {worker.queues !== null && <p className="text-xs text-ink-faint">only {worker.queues.join(', ')}</p>}
      </Cell>
      <Cell>
        <Time at={worker.heartbeat_at} />
      </Cell>
      <Cell className="text-right">
        {worker.drain_requested_at !== null ? (
          <span className="text-xs text-warn">draining</span>
        ) : (
          may &&
          isWorker && (
            <AskButton
              verb="Drain"
              title={`Drain the node on ${worker.host}?`}
              isPending={send.isPending}
              onAct={() =>
                send.mutate(
                  { path: `api/workers/${encodeURIComponent(worker.id)}/drain`, body: {} },
                  { onSuccess: () => toasts.say('It takes no more jobs.'), onError: toasts.complain },
                )
              }
            >
              <p>
                It takes no more jobs and lets what runs finish: {counted(worker.running, 'job')} now. To have
                it work again its process is started anew.
              </p>
            </AskButton>
          )
        )}
      </Cell>
    </tr>
  );
}
