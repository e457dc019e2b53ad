import { useNavigate, useSearch } from '@tanstack/react-router';
import { useLocks } from '../api/operations.ts';
import { Time } from '../time/time.tsx';
import { TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { FilteredAway, NothingYet, QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';

const kinds = { lock: 'lock', leader: 'leadership', once: 'once' } as const;

/** Who holds what at this moment. */
export function LocksPage() {
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const locks = useLocks({ prefix: q });
  const search = (text: string) =>
    void navigate({ to: '.', search: text === '' ? {} : { q: text }, replace: true } as never);
  const rows = locks.data?.data;
  return (
    <>
      <PageHead
        title="Locks"
        about="Names that one process at a time may hold: who does, and until when without renewal."
      />
      <div className="mb-3 max-w-md">
        <TextInput
          data-search
          aria-label="Search locks"
          placeholder="How the name begins"
          value={q}
          onChange={(event) => search(event.target.value)}
        />
      </div>
      <Panel>
        {rows === undefined ? (
          <QueryState query={locks} />
        ) : rows.length === 0 ? (
          q === '' ? (
            <NothingYet
              title="Nobody holds a lock."
              command="await duly.lock('import', { ttl: '5m' }, async () => { … })"
            />
          ) : (
            <FilteredAway what="locks" onClear={() => search('')} />
          )
        ) : (
          <Table label="Locks" head={['Name', 'Kind', 'Holder', 'Held until', 'Fence']}>
            {rows.map((lock) => (
              <tr key={`${lock.kind}/${lock.name}`}>
                <Cell className="font-medium break-all">{lock.name}</Cell>
                <Cell>{kinds[lock.kind]}</Cell>
                <Cell>
                  {lock.holder.host} <span className="text-ink-faint">pid {lock.holder.pid}</span>
                  <p className="font-mono text-xs text-ink-faint">{lock.holder.node}</p>
                </Cell>
                <Cell className="whitespace-nowrap">
                  <Time at={lock.until} />
                </Cell>
                <Cell className="tabular">{lock.fence}</Cell>
              </tr>
            ))}
          </Table>
        )}
        {locks.data?.has_more === true && (
          <p className="border-t border-line px-4 py-2 text-xs text-ink-faint">
            The first {rows?.length.toLocaleString('en')} by kind and name; type how a name begins to find
            others.
          </p>
        )}
      </Panel>
    </>
  );
}
