import { Link } from '@tanstack/react-router';
import type { Job } from '../../api/jobs.ts';
import { useDeliveries, type Webhook } from '../../api/webhooks.ts';
import { Time } from '../../time/time.tsx';
import { Panel } from '../../ui/panel.tsx';
import { NothingYet, QueryState } from '../../ui/states.tsx';
import { type Status, StatusBadge } from '../../ui/status.tsx';
import { Cell, Table } from '../../ui/table.tsx';

/** What was sent to it lately, and what it answered. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const deliveries = useDeliveries(webhook.id);
  const rows = deliveries.data?.data;
  return (
    <Panel title="Last deliveries">
      {rows === undefined ? (
        <QueryState query={deliveries} />
      ) : rows.length === 0 ? (
        <NothingYet title="Nothing was sent yet.">
          A delivery is created when a job ends that it is notified of.
        </NothingYet>
      ) : (
        <Table label="Last deliveries" head={['Delivery', 'Of', 'Answer', 'Tries', 'Created']}>
          {rows.map((job) => (
            <DeliveryRow key={job.id} job={job} />
          ))}
        </Table>
      )}
      {deliveries.data?.has_more === true && (
        <Link
          to="/jobs"
          search={{ q: `type:duly:webhook input.endpoint:${webhook.id}` }}
          className="block border-t border-line px-4 py-2 text-xs text-ink-soft hover:bg-raised"
        >
          All deliveries to it
        </Link>
      )}
    </Panel>
  );
}

function DeliveryRow({ job }: { job: Job }) {
  const { job_id, status } = job.input as { job_id: string; status: string };
  return (
    <tr>
      <Cell>
        <Link to="/jobs/$id" params={{ id: job.id }} title="The delivery, with all its tries">
          <StatusBadge status={job.status as Status} />
        </Link>
      </Cell>
      <Cell>
        <Link
          to="/jobs/$id"
          params={{ id: job_id }}
          className="font-mono text-xs break-all text-accent hover:underline sm:whitespace-nowrap"
        >
          {job_id}
        </Link>
        <p className="text-xs text-ink-faint">{status.toLowerCase()}</p>
      </Cell>
      <Cell isLong>{answerOf(job)}</Cell>
      <Cell className="tabular">
        {job.attempts}
        {job.next_attempt_at !== null && (
          <span className="block text-xs text-ink-faint">
            next <Time at={job.next_attempt_at} />
          </span>
        )}
      </Cell>
      <Cell className="whitespace-nowrap">
        <Time at={job.created_at} />
      </Cell>
    </tr>
  );
}

/** What came back: a status, or why nothing did. */
function answerOf({ result, error }: Job): string {
  if (error !== null) return error.message;
  if (typeof result !== 'object' || result === null) return '–';
  const { status, reason } = result as { status?: number; reason?: string };
  return [status, reason].filter((part) => part !== undefined).join(', ') || '–';
}
