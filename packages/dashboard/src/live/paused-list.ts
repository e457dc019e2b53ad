import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

/** What is read this soon after the reader did something shows what came of it. */
const ownMs = 10_000;

interface PausedList<Data> {
  /** What to show. */
  data: Data;
  /** For the element whose rows have to stay. */
  pointer: { onPointerEnter: () => void; onPointerLeave: () => void };
}

/**
 * A list that stops changing while the pointer is over it, so that rows do not move under a click. Changes by the reader are shown at once.
 * A new `key` is a new question, whose answer is shown when it arrives.
 */
export function usePausedList<Data>(data: Data, key: unknown = null): PausedList<Data> {
  const queries = useQueryClient();
  const [paused, setPaused] = useState<{ data: Data; key: unknown } | null>(null);
  const isFree = paused === null || paused.key !== key || Date.now() - actedAt(queries) < ownMs;
  useEffect(() => {
    if (paused !== null && isFree && paused.data !== data) setPaused({ data, key });
  }, [paused, isFree, data, key]);
  return {
    data: isFree ? data : paused.data,
    pointer: {
      onPointerEnter: () => setPaused({ data, key }),
      onPointerLeave: () => setPaused(null),
    },
  };
}

function actedAt(queries: QueryClient): number {
  return Math.max(
    0,
    ...queries
      .getMutationCache()
      .getAll()
      .map(({ state }) => state.submittedAt),
  );
}
