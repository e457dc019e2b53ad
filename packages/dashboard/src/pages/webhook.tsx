import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useSend } from '../api/operations.ts';
import { useWebhook, type Webhook } from '../api/webhooks.ts';
import { Instant } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { DeleteButton } from '../ui/delete-button.tsx';
import { Fact, PageHead, Panel } from '../ui/panel.tsx';
import { QueryState } from '../ui/states.tsx';
import { useToasts } from '../ui/toast.tsx';
import { Deliveries } from './webhooks/deliveries.tsx';
import { Secrets } from './webhooks/secrets.tsx';
import { WebhookDialog } from './webhooks/webhook-dialog.tsx';
import { WebhookState } from './webhooks/webhook-state.tsx';
import { subscribesTo } from './webhooks.tsx';

/** One address: what it hears of, with what it is signed, and what was sent to it. */
export function WebhookPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const webhook = useWebhook(id);
  if (webhook.data === undefined) return <QueryState isPage query={webhook} />;
  return <WebhookView webhook={webhook.data} />;
}

function WebhookView({ webhook }: { webhook: Webhook }) {
  return (
    <>
      <PageHead
        title={new URL(webhook.url).host}
        about={<span className="font-mono text-xs break-all">{webhook.url}</span>}
        actions={<Actions webhook={webhook} />}
      />
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[2fr_1fr]">
        <div className="min-w-0 space-y-4">
          <Deliveries webhook={webhook} />
        </div>
        <div className="space-y-4">
          <Panel title="Facts">
            <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3">
              <Fact name="State">
                <WebhookState webhook={webhook} />
              </Fact>
              <Fact name="Notified of">{subscribesTo(webhook)}</Fact>
              <Fact name="Created">
                <Instant at={webhook.created_at} />
              </Fact>
              <Fact name="By">{webhook.created_by}</Fact>
              {webhook.note !== null && <Fact name="For">{webhook.note}</Fact>}
            </dl>
          </Panel>
          <Secrets webhook={webhook} />
        </div>
      </div>
    </>
  );
}

function Actions({ webhook }: { webhook: Webhook }) {
  const navigate = useNavigate();
  const toasts = useToasts();
  const change = useSend('PATCH');
  const [isEdited, setEdited] = useState(false);
  const path = `api/webhooks/${encodeURIComponent(webhook.id)}`;
  return (
    <>
      <Button onClick={() => setEdited(true)}>Edit</Button>
      <Button
        disabled={change.isPending}
        title={
          webhook.enabled ? 'Nothing is sent to it, and what would have been is not sent later.' : undefined
        }
        onClick={() =>
          change.mutate(
            { path, body: { enabled: !webhook.enabled } },
            {
              onSuccess: () =>
                toasts.say(
                  webhook.enabled ? 'Nothing is sent to it.' : 'It is notified of what ends from now on.',
                ),
              onError: toasts.complain,
            },
          )
        }
      >
        {webhook.enabled ? 'Disable' : 'Enable'}
      </Button>
      <DeleteButton
        verb="Delete"
        title="Delete this webhook?"
        path={path}
        done="The webhook is deleted."
        onDone={() => navigate({ to: '/webhooks' })}
      >
        <p>
          <span className="font-mono text-xs break-all">{webhook.url}</span> is notified of nothing from now
          on, and its secret is no longer used.
        </p>
      </DeleteButton>
      {isEdited && (
        <WebhookDialog webhook={webhook} onClose={() => setEdited(false)} onDone={() => setEdited(false)} />
      )}
    </>
  );
}
