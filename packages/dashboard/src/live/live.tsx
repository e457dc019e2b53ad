import { focusManager, useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { placeOf } from '../api/place.ts';
import { sessionKey } from '../api/queries.ts';
import { isPassing, type RequestError } from '../api/request.ts';

/** How the page hears of changes: `live`, `paused` by the reader, or `away` while the server or the store cannot be reached. */
export type LiveState = 'live' | 'paused' | 'away';

interface Live {
  state: LiveState;
  /** Why what is shown could not be read again; null: it could, or nothing was asked. */
  trouble: RequestError | null;
  pause(): void;
  resume(): void;
}

const LiveContext = createContext<Live>({ state: 'away', trouble: null, pause: () => {}, resume: () => {} });

/** At most so often are lists read again, however much happens. */
const refreshEveryMs = 1_000;
/** A stream that is refused, by a proxy or by a store that is away, is asked for again after this. */
const reopenMs = 3_000;
/** A stream that has not begun by then is away. */
const patienceMs = 3_000;

/**
 * Hears of every change over one stream and has what is shown read again, at most once a second. Paused: nothing on the page moves
 * until the reader goes on. Hidden: no stream is held, because a browser has six connections to a host for all its tabs together.
 */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const [isAway, setAway] = useState(false);
  const isVisible = useIsVisible();
  const trouble = useTrouble();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  useEffect(() => {
    // A page that is held is as one that nobody looks at: what is read again by the clock, or when the window comes back, waits too.
    focusManager.setFocused(isPaused ? false : undefined);
    if (isPaused || !isVisible) return;
    let source: EventSource;
    let waiting: ReturnType<typeof setTimeout>;
    /** The jobs that changed since what is shown was read; null: any may have. */
    let changed: Set<unknown> | null = new Set();
    const refresh = () => {
      timer.current ??= setTimeout(() => {
        timer.current = undefined;
        const ids = changed;
        changed = new Set();
        void queries.invalidateQueries({
          refetchType: 'active',
          predicate: ({ meta }) =>
            meta?.['pace'] !== 'own' && (meta?.['job'] === undefined || ids === null || ids.has(meta['job'])),
        });
      }, refreshEveryMs);
    };
    const refreshAll = () => {
      changed = null;
      refresh();
    };
    const refreshOne = ({ data }: MessageEvent<string>) => {
      changed?.add((JSON.parse(data) as { id: string }).id);
      refresh();
    };
    const open = () => {
      source = new EventSource(placeOf('api/events'), { withCredentials: true });
      waiting = setTimeout(() => setAway(true), patienceMs);
      source.onopen = () => {
        clearTimeout(waiting);
        setAway(false);
        refreshAll();
      };
      source.onerror = () => {
        clearTimeout(waiting);
        setAway(true);
        // A browser tries again by itself when it is cut off, and never when it was answered with a refusal.
        if (source.readyState !== EventSource.CLOSED) return;
        void queries.invalidateQueries({ queryKey: sessionKey });
        waiting = setTimeout(open, reopenMs);
      };
      source.addEventListener('change', refreshOne);
      source.addEventListener('gap', refreshAll);
    };
    open();
    return () => {
      source.close();
      clearTimeout(waiting);
      clearTimeout(timer.current);
      timer.current = undefined;
      setAway(false);
    };
  }, [isPaused, isVisible, queries]);

  const state: LiveState = isPaused ? 'paused' : isAway || trouble !== null ? 'away' : 'live';
  return (
    <LiveContext value={{ state, trouble, pause: () => setPaused(true), resume: () => setPaused(false) }}>
      {children}
    </LiveContext>
  );
}

/** Whether the page can be seen at all: not one of a tab behind others. */
function useIsVisible(): boolean {
  return useSyncExternalStore(
    (listener) => {
      document.addEventListener('visibilitychange', listener);
      return () => document.removeEventListener('visibilitychange', listener);
    },
    () => document.visibilityState === 'visible',
  );
}

/** Why something on the page is not as new as it should be, while it is asked for again. */
function useTrouble(): RequestError | null {
  const cache = useQueryClient().getQueryCache();
  return useSyncExternalStore(
    (listener) => cache.subscribe(listener),
    () => {
      const reasons = cache.findAll({ type: 'active' }).map(({ state }) => state.fetchFailureReason);
      return reasons.find(isPassing) ?? null;
    },
  );
}

/** Whether the page moves, and how to hold it. */
export function useLive(): Live {
  return useContext(LiveContext);
}
