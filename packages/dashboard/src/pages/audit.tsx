import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type AuditEntry, useAudit } from '../api/operations.ts';
import { usePausedList } from '../live/paused-list.ts';
import { Instant } from '../time/time.tsx';
import { Button } from '../ui/button.tsx';
import { TextInput } from '../ui/field.tsx';
import { PageHead, Panel } from '../ui/panel.tsx';
import { FilteredAway, NothingYet, QueryState } from '../ui/states.tsx';
import { Cell, Table } from '../ui/table.tsx';

/** Who did what to jobs and schedules. */
export function AuditPage() {
  const { q = '' } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const audit = useAudit({ subject: q });
  // Older ones are shown when they are asked for, whatever is pointed at.
  const paused = usePausedList(audit.data, `${audit.data?.pages.length} ${q}`);
  const entries = paused.data?.pages.flatMap(({ data }) => data);
  const search = (text: string) => void navigate({ to: '/audit', search: text === '' ? {} : { q: text } });
  return (
    <>
      <PageHead title="Audit" about="Every change to a job or schedule: who, what, when, before and after." />
      <form
        className="mb-3 max-w-md"
        onSubmit={(event) => {
          event.preventDefault();
          search(String(new FormData(event.currentTarget).get('subject') ?? '').trim());
        }}
      >
        <TextInput
          key={q}
          data-search
          name="subject"
          defaultValue={q}
          aria-label="Only about this"
          placeholder="job:job_01k9… or schedule:…"
        />
      </form>
      <Panel {...paused.pointer}>
        {entries === undefined ? (
          <QueryState query={audit} />
        ) : entries.length === 0 ? (
          q === '' ? (
            <NothingYet title="Nobody has changed anything yet." />
          ) : (
            <FilteredAway what="entries" onClear={() => search('')} />
          )
        ) : (
          <Table label="Audit" head={['When', 'Who', 'What', 'To what']}>
            {entries.map((entry) => (
              <Row key={entry.position} entry={entry} />
            ))}
          </Table>
        )}
        {audit.hasNextPage && (
          <p className="border-t border-line px-4 py-2">
            <Button
              kind="quiet"
              disabled={audit.isFetchingNextPage}
              onClick={() => void audit.fetchNextPage()}
            >
              Show older ones
            </Button>
          </p>
        )}
      </Panel>
    </>
  );
}

/** What was done; of sessions in words, because they are no settings to whoever signs in. */
function deedOf({ action, subject }: AuditEntry): string {
  if (!subject.startsWith('record:session/')) return action;
  return action === 'put' ? 'signed in' : 'session ended';
}

/** What it was done to, with the way there. */
function Subject({ subject }: { subject: string }) {
  const [, kind, id = ''] = /^(job|schedule):(.+)$/.exec(subject) ?? [];
  const className = 'font-mono text-xs break-all';
  if (kind === undefined) return <span className={className}>{subject}</span>;
  return (
    <Link
      to={kind === 'job' ? '/jobs/$id' : '/schedules/$id'}
      params={{ id }}
      className={`${className} text-accent hover:underline`}
    >
      {subject}
    </Link>
  );
}

function Row({ entry }: { entry: AuditEntry }) {
  const hasDetails = entry.before !== null || entry.after !== null;
  return (
    <tr>
      <Cell className="whitespace-nowrap">
        <Instant at={entry.at} />
      </Cell>
      <Cell isLong className="font-mono text-xs">
        {entry.actor}
      </Cell>
      <Cell className="whitespace-nowrap">{deedOf(entry)}</Cell>
      <Cell isLong>
        {entry.note !== null && <p className="mb-0.5">{entry.note}</p>}
        <Subject subject={entry.subject} />
        {hasDetails && (
          <details className="mt-1">
            <summary className="cursor-pointer text-xs text-ink-soft">Before and after</summary>
            <pre className="mt-1 max-h-64 overflow-auto rounded-md bg-raised p-2 font-mono text-xs">
              {JSON.stringify({ before: entry.before, after: entry.after }, null, 2)}
            </pre>
          </details>
        )}
      </Cell>
    </tr>
  );
}
