import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useJobTotal } from '../../api/jobs.ts';
import { type Count, countText } from '../../api/page.ts';
import { type Status, statuses, statusStyle } from '../../ui/status.tsx';

/** How many jobs are in each status, each a way to them. */
export function StatusCounts({ counts }: { counts: Readonly<Record<Status, Count>> }) {
  return (
    <Counts>
      {statuses.map((status) => (
        <StatusCount key={status} status={status} count={counts[status]} />
      ))}
    </Counts>
  );
}

/** The same of one tenant, for its own key: counted one by one. */
export function TenantCounts() {
  return (
    <Counts>
      {statuses.map((status) => (
        <TenantCount key={status} status={status} />
      ))}
    </Counts>
  );
}

function TenantCount({ status }: { status: Status }) {
  return <StatusCount status={status} count={useJobTotal({ status }).data?.total} />;
}

function Counts({ children }: { children: ReactNode }) {
  return <ul className="mb-4 grid grid-cols-3 gap-2 sm:grid-cols-5 lg:grid-cols-9">{children}</ul>;
}

function StatusCount({ status, count }: { status: Status; count: Count | undefined }) {
  const { icon: Icon, word, className } = statusStyle[status];
  return (
    <li>
      <Link
        to="/jobs"
        search={{ q: `status:${status.toLowerCase()}` }}
        className="block rounded-lg border border-line bg-surface px-3 py-2.5 hover:border-line-strong"
      >
        <span className={`inline-flex items-center gap-1 rounded-full px-1.5 text-xs ${className}`}>
          <Icon aria-hidden className="size-3.5" />
          {word}
        </span>
        <span className="tabular mt-1 block text-xl font-semibold">
          {count === undefined ? '–' : countText(count)}
        </span>
      </Link>
    </li>
  );
}
