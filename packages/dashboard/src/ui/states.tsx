import { CloudOff, Filter, Inbox, LoaderCircle, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { isPassing, RequestError } from '../api/request.ts';
import { Button } from './button.tsx';
import { usePageTitle } from './page-title.ts';

function State({
  icon,
  title,
  isPage = false,
  children,
}: {
  icon: ReactNode;
  title: string;
  isPage?: boolean;
  children?: ReactNode;
}) {
  const Title = isPage ? 'h1' : 'p';
  usePageTitle(isPage ? title : null);
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <span className="text-ink-faint">{icon}</span>
      <Title className="font-medium">{title}</Title>
      {children !== undefined && <div className="max-w-prose text-sm text-ink-soft">{children}</div>}
    </div>
  );
}

/** Nothing was ever made: what this place is for, and the command that fills it. */
export function NothingYet({
  title,
  command,
  children,
}: {
  title: string;
  command?: string;
  children?: ReactNode;
}) {
  return (
    <State icon={<Inbox aria-hidden className="size-8" />} title={title}>
      {children}
      {command !== undefined && (
        <code className="mt-3 block rounded-md border border-line bg-raised px-3 py-2 text-left font-mono text-xs text-ink">
          {command}
        </code>
      )}
    </State>
  );
}

/** There is something, and the filter hides all of it. */
export function FilteredAway({ what, onClear }: { what: string; onClear: () => void }) {
  return (
    <State icon={<Filter aria-hidden className="size-8" />} title={`The filter hides all ${what}.`}>
      <Button className="mt-2" onClick={onClear}>
        Clear the filter
      </Button>
    </State>
  );
}

/** A search that is not run because a part of it cannot be read. */
export function Unreadable({ onClear }: { onClear: () => void }) {
  return (
    <State icon={<Filter aria-hidden className="size-8" />} title="The search was not run.">
      <p>Correct the terms above, then press Enter.</p>
      <Button className="mt-2" onClick={onClear}>
        Clear the filter
      </Button>
    </State>
  );
}

/** An address that leads nowhere. */
export function NoSuchPage() {
  return (
    <State isPage icon={<Inbox aria-hidden className="size-8" />} title="There is no such page.">
      The navigation, or <kbd>⌘K</kbd>, leads to all that there are.
    </State>
  );
}

/** Something could not be read. An unreachable server is asked again by itself. `isPage`: nothing else is on the page. */
export function Trouble({
  error,
  onRetry,
  isPage = false,
}: {
  error: unknown;
  onRetry?: () => void;
  isPage?: boolean;
}) {
  const problem = error instanceof RequestError ? error.problem : null;
  // What is not there does not come by asking again.
  const isGone = problem?.status === 404 || problem?.status === 410;
  const isAway = isPassing(error);
  const title = isAway ? awayText(error) : (problem?.title ?? 'Something went wrong');
  const Icon = isAway ? CloudOff : TriangleAlert;
  return (
    <State isPage={isPage} icon={<Icon aria-hidden className="size-8" />} title={title}>
      <p>{problem?.detail ?? String((error as Error)?.message ?? error)}</p>
      {problem?.hint !== undefined && <p className="mt-1">{problem.hint}</p>}
      {onRetry !== undefined && !isGone && (
        <Button className="mt-3" onClick={onRetry}>
          Try now
        </Button>
      )}
    </State>
  );
}

/** What is away, and that it is asked for again. */
export function awayText({ problem }: RequestError): string {
  return problem.code.startsWith('store_')
    ? 'The store is unreachable. Retrying …'
    : 'The server is unreachable. Retrying …';
}

/** In place of what was not read yet: it is being read, or why it could not be. */
export function QueryState({
  query,
  isPage = false,
}: {
  query: { error: unknown; failureReason: unknown; refetch: () => Promise<unknown> };
  /** Nothing else is on the page. */
  isPage?: boolean;
}) {
  // While one is asked again and again there is no error yet, but a reason.
  const error = query.error ?? query.failureReason;
  return error === null ? (
    <Loading />
  ) : (
    <Trouble isPage={isPage} error={error} onRetry={() => void query.refetch()} />
  );
}

/** In place of a page that could not be drawn. What is around it still works. */
export function Broken({ error, reset }: { error: unknown; reset?: () => void }) {
  return (
    <State isPage icon={<TriangleAlert aria-hidden className="size-8" />} title="This page cannot be shown.">
      <p className="font-mono text-xs">{String((error as Error)?.message ?? error)}</p>
      {reset !== undefined && (
        <Button className="mt-3" onClick={reset}>
          Try again
        </Button>
      )}
    </State>
  );
}

/** Being read for the first time. */
export function Loading() {
  return (
    <div role="status" className="flex items-center justify-center gap-2 py-12 text-sm text-ink-faint">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      Reading …
    </div>
  );
}
