import { useState } from 'react';
import { type AlertRule, useSend } from '../../api/operations.ts';
import { useMay } from '../../shell/caller.tsx';
import { exactDuration } from '../../time/format.ts';
import { Button } from '../../ui/button.tsx';
import { DeleteButton } from '../../ui/delete-button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { NothingYet } from '../../ui/states.tsx';
import { Cell, Table } from '../../ui/table.tsx';
import { useToasts } from '../../ui/toast.tsx';
import { sentenceOf } from './kinds.ts';
import { RuleDialog } from './rule-dialog.tsx';

/** What is looked at, and from where on a person is told. */
export function Rules({ rules }: { rules: readonly AlertRule[] }) {
  const may = useMay('admin');
  const [edited, setEdited] = useState<AlertRule | 'new' | null>(null);
  return (
    <Panel title="Rules" actions={may && <Button onClick={() => setEdited('new')}>Add a rule</Button>}>
      {rules.length === 0 ? (
        <NothingYet title="Nothing is looked at." />
      ) : (
        <Table label="Rules" head={['Rule', 'When', 'Only', '']}>
          {rules.map((rule) => (
            <RuleRow key={rule.id} rule={rule} onEdit={() => setEdited(rule)} />
          ))}
        </Table>
      )}
      {edited !== null && (
        <RuleDialog rule={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />
      )}
    </Panel>
  );
}

function RuleRow({ rule, onEdit }: { rule: AlertRule; onEdit: () => void }) {
  const may = useMay('admin');
  const send = useSend('PATCH');
  const toasts = useToasts();
  const path = `api/alerts/rules/${encodeURIComponent(rule.id)}`;
  return (
    <tr className={rule.enabled ? '' : 'text-ink-faint'}>
      <Cell isLong className="font-medium">
        {rule.id}
        {!rule.enabled && <span className="ml-2 text-xs font-normal">off</span>}
      </Cell>
      <Cell isLong>
        {sentenceOf(rule)}
        {rule.for > 0 && `, and still does after ${exactDuration(rule.for)}`}
        {rule.channels !== null && (
          <p className="text-xs text-ink-faint">
            {rule.channels.length === 0
              ? 'sent to no channel'
              : `sent to ${rule.channels.length === 1 ? 'one channel' : `${rule.channels.length} channels`} only`}
          </p>
        )}
      </Cell>
      <Cell isLong>{rule.types?.join(', ') ?? 'all types'}</Cell>
      <Cell className="text-right">
        {may && (
          <span className="inline-flex flex-wrap justify-end gap-2 sm:flex-nowrap">
            <Button onClick={onEdit}>Edit</Button>
            <Button
              disabled={send.isPending}
              onClick={() =>
                send.mutate({ path, body: { enabled: !rule.enabled } }, { onError: toasts.complain })
              }
            >
              {rule.enabled ? 'Switch off' : 'Switch on'}
            </Button>
            <DeleteButton verb="Delete" title={`Delete the rule ${rule.id}?`} path={path}>
              <p>No alert is sent when {sentenceOf(rule)}. To be quiet for a while, switch it off instead.</p>
            </DeleteButton>
          </span>
        )}
      </Cell>
    </tr>
  );
}
