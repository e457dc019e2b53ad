import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useWebhooks, type Webhook } from '../api/webhooks.ts';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { NothingYet, QueryState } from '../ui/states.tsx';
import { statusStyle } from '../ui/status.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { WebhookDialog } from './webhooks/webhook-dialog.tsx';
import { WebhookState } from './webhooks/webhook-state.tsx';

/** Addresses that are told of the ends of jobs. */
export function WebhooksPage() {
  const webhooks = useWebhooks();
  const navigate = useNavigate();
  const [isAdding, setAdding] = useState(false);
  if (webhooks.data === undefined) return <QueryState isPage query={webhooks} />;
  return (
    <>
      <PageHead
        title="Webhooks"
        about="Addresses that are notified of the ends of jobs, each call signed."
        actions={
          <Button kind="primary" onClick={() => setAdding(true)}>
            Add a webhook
          </Button>
        }
      />
      <Panel>
        {webhooks.data.data.length === 0 ? (
          <NothingYet title="No address is notified yet.">
            A webhook is called when a job ends: of all jobs, or of some types, schedules or ends. A single
            job can also have an address of its own, its <code className="font-mono">callback_url</code>.
          </NothingYet>
        ) : (
          <Table label="Webhooks" head={['Address', 'Notified of', 'State', 'Created']}>
            {webhooks.data.data.map((webhook) => (
              <tr key={webhook.id}>
                <Cell isLong className="sm:max-w-96">
                  <Link
                    to="/webhooks/$id"
                    params={{ id: webhook.id }}
                    className="font-medium hover:underline"
                  >
                    {webhook.url}
                  </Link>
                  {webhook.note !== null && <p className="text-xs text-ink-soft">{webhook.note}</p>}
                </Cell>
                <Cell isLong>{subscribesTo(webhook)}</Cell>
                <Cell>
                  <WebhookState webhook={webhook} />
                </Cell>
                <Cell>
                  <Time at={webhook.created_at} className="whitespace-nowrap" />
                  <p className="text-xs wrap-anywhere text-ink-faint sm:min-w-20">by {webhook.created_by}</p>
                </Cell>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
      {isAdding && (
        <WebhookDialog
          webhook={null}
          onClose={() => setAdding(false)}
          onDone={({ id }) => void navigate({ to: '/webhooks/$id', params: { id } })}
        />
      )}
    </>
  );
}

/** What it wants to hear of, in words. */
export function subscribesTo({ types, schedules, statuses, tenant }: Webhook): string {
  const ends =
    statuses === null
      ? 'every end'
      : statuses.map((status) => statusStyle[status].word.toLowerCase()).join(', ');
  return [
    `${ends} of ${types === null ? 'all types' : types.join(', ')}`,
    ...(schedules === null ? [] : [`run by ${schedules.join(', ')}`]),
    ...(tenant === null ? [] : [`for ${tenant}`]),
  ].join(', ');
}
