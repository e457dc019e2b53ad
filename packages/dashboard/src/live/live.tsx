import { focusManager, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { placeOf } from '../api/place.ts';

/** How the page hears of changes: `live`, `paused` by the reader, or `away` while the server cannot be heard. */
export type LiveState = 'live' | 'paused' | 'away';

interface Live {
  state: LiveState;
  pause(): void;
  resume(): void;
}

const LiveContext = createContext<Live>({ state: 'away', pause: () => {}, resume: () => {} });

/** At most so often are lists read again, however much happens. */
const refreshEveryMs = 1_000;

/**
 * Hears of every change over one stream and has what is shown read again, at most once a second. Paused: nothing on the page moves
 * until the reader goes on.
 */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const [isHeard, setHeard] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  useEffect(() => {
    // A page that is held is as one that nobody looks at: what is read again by the clock, or when the window comes back, waits too.
    focusManager.setFocused(isPaused ? false : undefined);
    if (isPaused) return;
    const source = new EventSource(placeOf('api/events'), { withCredentials: true });
    const refresh = () => {
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        void queries.invalidateQueries({
          refetchType: 'active',
          predicate: ({ meta }) => meta?.['pace'] !== 'own',
        });
      }, refreshEveryMs);
    };
    source.onopen = () => {
      setHeard(true);
      refresh();
    };
    source.onerror = () => setHeard(false);
    source.onmessage = refresh;
    for (const name of ['change', 'gap']) source.addEventListener(name, refresh);
    return () => {
      source.close();
      clearTimeout(timer.current);
      timer.current = undefined;
      setHeard(false);
    };
  }, [isPaused, queries]);

  const state: LiveState = isPaused ? 'paused' : isHeard ? 'live' : 'away';
  return (
    <LiveContext value={{ state, pause: () => setPaused(true), resume: () => setPaused(false) }}>
      {children}
    </LiveContext>
  );
}

/** Whether the page moves, and how to hold it. */
export function useLive(): Live {
  return useContext(LiveContext);
}
