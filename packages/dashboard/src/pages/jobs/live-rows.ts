import { useCallback, useEffect, useRef, useState } from 'react';
import { type Job, readOlderJobs, useNewestJobs } from '../../api/jobs.ts';
import type { Query } from '../../api/request.ts';
import { newCountOf, pausedRows } from './paused-rows.ts';

interface Shown {
  /** Which search these are of. */
  key: string;
  rows: Job[];
  /** Where older ones go on; null: there are none. */
  cursor: string | null;
}

/** The rows that were last shown: whoever comes back from one of them finds it where it was. */
let left: Shown | null = null;

/**
 * The jobs of a search, newest first, that change while you look. Paused, the rows stay where they are and only their contents change; what is new
 * is counted until `showNew`. Older ones are read when they are asked for and not again.
 */
export function useLiveRows(query: Query, { isPaused, isBroken }: { isPaused: boolean; isBroken: boolean }) {
  const newest = useNewestJobs(query, { isPaused: isBroken });
  const key = JSON.stringify(query);
  const [shown, setShown] = useState<Shown | null>(left?.key === key ? left : null);
  // Paused until the browser is back at the place it had on the page: fewer rows would have no such place.
  const [isReturning, setReturning] = useState(shown !== null);
  useEffect(() => {
    const frame = requestAnimationFrame(() => requestAnimationFrame(() => setReturning(false)));
    return () => cancelAnimationFrame(frame);
  }, []);
  useEffect(() => {
    left = shown;
  }, [shown]);
  const [isMore, setMore] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isCurrent = !isBroken && !newest.isPlaceholderData && newest.data !== undefined;
  const fresh = isCurrent ? newest.data : undefined;

  const show = useCallback(() => {
    if (fresh !== undefined)
      setShown({ key, rows: fresh.data, cursor: fresh.has_more ? fresh.next_cursor : null });
  }, [fresh, key]);
  // A search that cannot be read shows nothing, whatever an earlier one with the same terms found.
  const current = !isBroken && shown?.key === key ? shown : null;
  const mustPause = (isPaused || isReturning) && current !== null;
  useEffect(() => {
    if (!mustPause) show();
  }, [mustPause, show]);

  const asked = useRef<string | null>(null);
  const readMore = useCallback(() => {
    const cursor = current?.cursor ?? null;
    const mark = `${key} ${cursor}`;
    if (cursor === null || asked.current === mark) return;
    asked.current = mark;
    setMore(true);
    readOlderJobs(query, cursor)
      .then((page) =>
        setShown((before) =>
          before?.key === key && before.cursor === cursor
            ? { key, rows: [...before.rows, ...page.data], cursor: page.has_more ? page.next_cursor : null }
            : before,
        ),
      )
      .catch(setError)
      .finally(() => {
        asked.current = null;
        setMore(false);
      });
  }, [current?.cursor, key, query]);
  // A search that finds little gives short pages, or empty ones, while there is more.
  const isShort = current !== null && current.rows.length < 20 && current.cursor !== null;
  useEffect(() => {
    if (isShort) readMore();
  }, [isShort, readMore]);

  const rows =
    current === null ? undefined : mustPause ? pausedRows(current.rows, fresh?.data ?? []) : current.rows;
  return {
    rows,
    newCount: current === null || fresh === undefined ? 0 : newCountOf(current.rows, fresh.data),
    hasMore: current !== null && current.cursor !== null,
    isReadingMore: isMore,
    readMore,
    showNew: show,
    error: newest.error ?? error,
    retry: () => void newest.refetch(),
  };
}
