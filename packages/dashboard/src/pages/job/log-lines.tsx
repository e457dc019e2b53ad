import { useEffect, useRef } from 'react';
import { useLogs } from '../../api/jobs.ts';
import { clockTime } from '../../time/format.ts';
import { useZone } from '../../time/zone.tsx';
import { Panel } from '../../ui/panel.tsx';

const levels = { debug: 'text-ink-faint', info: 'text-ink', warn: 'text-warn', error: 'text-bad' } as const;

/** What the handler wrote. Follows the end while the reader is there. */
export function LogLines({ id }: { id: string }) {
  const logs = useLogs(id);
  const { name } = useZone();
  const box = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  const lines = logs.data ?? [];
  const count = lines.at(-1)?.n ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: goes to the end when there are more lines
  useEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [count]);
  if (count === 0) return null;
  return (
    <Panel
      title={`Log, ${count.toLocaleString('en')} ${count === 1 ? 'line' : 'lines'}`}
      actions={
        count > lines.length && (
          <span className="text-xs text-ink-faint">the newest {lines.length.toLocaleString('en')}</span>
        )
      }
    >
      <ol
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label="Log lines"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 24;
        }}
        className="max-h-96 overflow-auto px-4 py-2 font-mono text-xs leading-5"
      >
        {lines.map((line) => (
          <li key={line.n} className="flex gap-3">
            <time dateTime={line.at} className="shrink-0 text-ink-faint">
              {clockTime(Date.parse(line.at), name)}
            </time>
            <span className={`w-10 shrink-0 ${levels[line.level]}`}>{line.level}</span>
            <span className="break-words whitespace-pre-wrap">{line.message}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
