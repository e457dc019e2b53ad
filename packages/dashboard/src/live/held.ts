import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

/** What is read so soon after the reader did something shows what came of it. */
const ownMs = 10_000;

interface Held<Data> {
  /** What to show. */
  data: Data;
  /** For the element whose rows have to stay. */
  pointer: { onPointerEnter: () => void; onPointerLeave: () => void };
}

/**
 * What was read, as it was when the pointer came over it: a row that moves under the pointer is another one when it is clicked. What the reader
 * does there is seen at once. `key` says what was asked for: something else is shown when it comes.
 */
export function useHeld<Data>(data: Data, key: unknown = null): Held<Data> {
  const queries = useQueryClient();
  const [held, setHeld] = useState<{ data: Data; key: unknown } | null>(null);
  const isFree = held === null || held.key !== key || Date.now() - actedAt(queries) < ownMs;
  useEffect(() => {
    if (held !== null && isFree && held.data !== data) setHeld({ data, key });
  }, [held, isFree, data, key]);
  return {
    data: isFree ? data : held.data,
    pointer: {
      onPointerEnter: () => setHeld({ data, key }),
      onPointerLeave: () => setHeld(null),
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
