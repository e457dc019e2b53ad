import { useState } from 'react';
import { useSend } from '../../api/operations.ts';
import { useWebhookSecrets, type Webhook } from '../../api/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { JsonView } from '../../ui/json-view.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useToasts } from '../../ui/toast.tsx';

/** What its calls are signed with: shown when asked for, and replaced by another. */
export function Secrets({ webhook }: { webhook: Webhook }) {
  const [isShown, setShown] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const secrets = useWebhookSecrets(webhook.id, isShown).data?.secrets;
  return (
    <Panel
      title="Secret"
      actions={
        <>
          <Button onClick={() => setShown(!isShown)}>{isShown ? 'Hide' : 'Show'}</Button>
          <Button onClick={() => setAsked(true)}>Rotate</Button>
        </>
      }
    >
      {isShown && secrets !== undefined ? (
        <div className="divide-y divide-line">
          {secrets.map((secret, at) => (
            <div key={secret}>
              <p className="px-4 pt-2 text-xs text-ink-faint">
                {at === 0 ? 'In use' : 'The one before, still used too'}
              </p>
              <JsonView value={secret} />
            </div>
          ))}
        </div>
      ) : (
        <p className="px-4 py-3 text-sm text-ink-soft">
          Every call is signed by Standard Webhooks. With the secret, the receiver verifies that a call comes
          from this server.
        </p>
      )}
      {isAsked && (
        <Rotate
          webhook={webhook}
          onDone={() => {
            setAsked(false);
            setShown(true);
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </Panel>
  );
}

function Rotate({ webhook, onDone, onClose }: { webhook: Webhook; onDone: () => void; onClose: () => void }) {
  const send = useSend();
  const toasts = useToasts();
  const [overlap, setOverlap] = useState('1 day');
  return (
    <Dialog
      open
      onClose={onClose}
      title="Rotate the secret"
      actions={
        <Button
          kind="primary"
          disabled={send.isPending || overlap.trim() === ''}
          onClick={() =>
            send.mutate(
              {
                path: `api/webhooks/${encodeURIComponent(webhook.id)}/rotate`,
                body: { overlap: overlap.trim() },
              },
              {
                onSuccess: () => {
                  toasts.say('Calls are signed with a new secret.');
                  onDone();
                },
                onError: toasts.complain,
              },
            )
          }
        >
          Rotate
        </Button>
      }
    >
      <Field
        name="Sign with the old one too, for"
        hint="Both signatures are sent until then, so that the receiver can be changed in peace. “0s”: the old one ends now."
      >
        <TextInput value={overlap} onChange={(event) => setOverlap(event.target.value)} />
      </Field>
    </Dialog>
  );
}
