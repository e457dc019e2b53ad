import { scopes } from '@duly/core/internal/browser';
import { useState } from 'react';
import { type Key, useKeys, useSend } from '../api/operations.ts';
import { useCaller } from '../shell/caller.tsx';
import { Time } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { DeleteButton } from '../ui/delete-button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Select, TextInput } from '../ui/field.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { useToasts } from '../ui/toast.tsx';

/** Who may do what. */
export function KeysPage() {
  const keys = useKeys();
  const [isCreating, setCreating] = useState(false);
  if (keys.data === undefined) return <QueryState isPage query={keys} />;
  return (
    <>
      <PageHead
        title="Keys"
        about="Stored as hashes: a key is shown once, when it is created."
        actions={
          <Button kind="primary" onClick={() => setCreating(true)}>
            Create a key
          </Button>
        }
      />
      <Panel>
        <Table label="Keys" head={['Key', 'May', 'Tenant', 'For', 'Created', 'Ends', '']}>
          {keys.data.data.map((key) => (
            <KeyRow key={key.id} info={key} />
          ))}
        </Table>
      </Panel>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
    </>
  );
}

function KeyRow({ info }: { info: Key }) {
  const isOwn = useCaller()?.actor === `key:${info.id}`;
  return (
    <tr>
      <Cell className="whitespace-nowrap">
        <span className="font-mono text-xs">duly_{info.id}_…</span>
        {isOwn && <p className="text-xs text-ink-soft">you are signed in with it</p>}
      </Cell>
      <Cell>{info.scope}</Cell>
      <Cell isLong>{info.tenant ?? <span className="text-ink-faint">all</span>}</Cell>
      <Cell isLong>{info.note ?? ''}</Cell>
      <Cell>
        <Time at={info.created_at} className="whitespace-nowrap" />
        <p className="text-xs wrap-anywhere text-ink-faint sm:min-w-20">by {info.created_by}</p>
      </Cell>
      <Cell>
        {info.expires_at === null ? (
          <span className="text-ink-faint">never</span>
        ) : (
          <Time at={info.expires_at} className="whitespace-nowrap" />
        )}
      </Cell>
      <Cell className="text-right">
        <DeleteButton
          verb="Revoke"
          title="Revoke this key?"
          path={`api/keys/${encodeURIComponent(info.id)}`}
          done="The key is revoked."
        >
          <p>Whoever uses it is refused from now on. It cannot be brought back.</p>
          {isOwn && (
            <p className="text-warn">You are signed in with it: this page will ask for another key.</p>
          )}
        </DeleteButton>
      </Cell>
    </tr>
  );
}

function CreateKey({ onClose }: { onClose: () => void }) {
  const send = useSend<{ key: string }>();
  const toasts = useToasts();
  const [scope, setScope] = useState<string>('read');
  const [tenant, setTenant] = useState('');
  const [note, setNote] = useState('');
  const [created, setCreated] = useState<string | null>(null);
  const create = () =>
    send.mutate(
      {
        path: 'api/keys',
        body: { scope, ...(tenant === '' ? {} : { tenant }), ...(note === '' ? {} : { note }) },
      },
      { onSuccess: ({ key }) => setCreated(key), onError: toasts.complain },
    );
  if (created !== null) {
    return (
      <Dialog open onClose={onClose} title="The key" actions={<Button onClick={onClose}>I have it</Button>}>
        <p className="mb-2 text-sm">It is shown this once.</p>
        <JsonView value={created} />
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Create a key"
      actions={
        <Button kind="primary" disabled={send.isPending} onClick={create}>
          Create it
        </Button>
      }
    >
      <div className="space-y-3">
        <Field name="May" hint="Each may also do what those before it may.">
          <Select value={scope} onChange={(event) => setScope(event.target.value)}>
            {scopes.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Select>
        </Field>
        <Field name="Only for this tenant" hint="Left empty: for all.">
          <TextInput value={tenant} onChange={(event) => setTenant(event.target.value)} />
        </Field>
        <Field name="What it is for">
          <TextInput value={note} onChange={(event) => setNote(event.target.value)} />
        </Field>
      </div>
    </Dialog>
  );
}
