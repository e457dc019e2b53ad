import { type Node, useNodes, useSend } from '../api/operations.ts';
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
  const nodes = useNodes();
  if (nodes.data === undefined) return <QueryState isPage query={nodes} />;
  return (
    <>
      <PageHead
        title="Nodes"
        about="Every process that sends heartbeats, what it may run and what it runs now."
      />
      <Panel>
        {nodes.data.data.length === 0 ? (
          <NothingYet title="No node is live." command="duly worker">
            Jobs are accepted and stored; they start when a node that runs them comes.
          </NothingYet>
        ) : (
          <Table label="Nodes" head={['Node', 'Roles', 'Running', 'Tasks', 'Last heartbeat', '']}>
            {nodes.data.data.map((node) => (
              <NodeRow key={node.id} node={node} />
            ))}
          </Table>
        )}
      </Panel>
    </>
  );
}

function NodeRow({ node }: { node: Node }) {
  const may = useMay('operate');
  const send = useSend();
  const toasts = useToasts();
  const isWorker = node.roles.includes('worker');
  const trouble = node.silent
    ? 'It has missed a heartbeat, and may be gone.'
    : isWorker
      ? node.not_ready
      : null;
  return (
    <tr>
      <Cell>
        <p className="font-medium">
          {node.host} <span className="font-normal text-ink-faint">pid {node.pid}</span>
        </p>
        <p className="font-mono text-xs text-ink-faint">{node.id}</p>
        <p className="text-xs text-ink-soft">
          {node.app}
          {node.release !== null && ` ${node.release}`}, up since <Time at={node.started_at} />
        </p>
        {trouble !== null && <p className="mt-0.5 text-xs text-warn">{trouble}</p>}
      </Cell>
      <Cell>{node.roles.join(', ')}</Cell>
      <Cell className="tabular">
        {node.running} of {node.concurrency}
      </Cell>
      <Cell isLong className="sm:max-w-72">
        <span className="text-ink-soft">{node.tasks.map(({ type }) => type).join(', ') || '–'}</span>
        {node.queues !== null && <p className="text-xs text-ink-faint">only {node.queues.join(', ')}</p>}
      </Cell>
      <Cell>
        <Time at={node.heartbeat_at} />
      </Cell>
      <Cell className="text-right">
        {node.drain_requested_at !== null ? (
          <span className="text-xs text-warn">draining</span>
        ) : (
          may &&
          isWorker && (
            <AskButton
              verb="Drain"
              title={`Drain the node on ${node.host}?`}
              isPending={send.isPending}
              onAct={() =>
                send.mutate(
                  { path: `api/nodes/${encodeURIComponent(node.id)}/drain`, body: {} },
                  { onSuccess: () => toasts.say('It takes no more jobs.'), onError: toasts.complain },
                )
              }
            >
              <p>
                It takes no more jobs and lets what runs finish: {counted(node.running, 'job')} now. To have
                it work again its process is started anew.
              </p>
            </AskButton>
          )
        )}
      </Cell>
    </tr>
  );
}
