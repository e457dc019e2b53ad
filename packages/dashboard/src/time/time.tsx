import { useSyncExternalStore } from 'react';
import { duration, fullInstant, relative } from './format.ts';
import { serverNow } from './server-clock.ts';
import { useZone } from './zone.tsx';

const listeners = new Set<() => void>();
let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for the whole page: a thousand rows with relative times cost one timer. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // While nobody listened it stood still: the first row of an empty page would have been made in the future.
  if (timer === undefined) now = serverNow();
  timer ??= setInterval(() => {
    now = serverNow();
    for (const one of listeners) one();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Now, to the second, by the server's clock. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** An instant, relative to now; the absolute one and its zone on hover. */
export function Time({ at, className }: { at: string | number | null | undefined; className?: string }) {
  const { name } = useZone();
  const present = useNow();
  if (at === null || at === undefined) return <span className="text-ink-faint">–</span>;
  const instant = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(instant).toISOString()} title={fullInstant(instant, name)} className={className}>
      {relative(instant, present)}
    </time>
  );
}

/** An instant as date and time in the chosen zone; how long ago on hover. */
export function Instant({ at, className }: { at: string | number | null | undefined; className?: string }) {
  const { name } = useZone();
  const present = useNow();
  if (at === null || at === undefined) return <span className="text-ink-faint">–</span>;
  const instant = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(instant).toISOString()} title={relative(instant, present)} className={className}>
      {fullInstant(instant, name)}
    </time>
  );
}

/** How long it took, or takes: counts on while `to` is missing. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
  const present = useNow();
  if (from === null) return <span className="text-ink-faint">–</span>;
  const end = to === null ? present : Date.parse(to);
  return <span className="tabular">{duration(Math.max(0, end - Date.parse(from)))}</span>;
}
