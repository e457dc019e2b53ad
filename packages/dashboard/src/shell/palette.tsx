import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type KeyboardEvent, useEffect, useMemo, useState } from 'react';
import { useTasks } from '../api/operations.ts';
import { Dialog } from '../ui/dialog.tsx';
import { usePageLinks } from './caller.tsx';

/** Tasks that are listed at most. More of them are found by typing more. */
const taskCountMax = 5;

/** A place that the palette leads to. */
interface Entry {
  name: string;
  hint: string;
  go(): void;
}

/** ⌘K: every page by its name, and a job by its id or a search for anything else. */
export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  // However it was closed, it is empty when it opens again.
  useEffect(() => {
    if (open) return;
    setText('');
    setChosen(0);
  }, [open]);
  const entries = useEntries(text, { open, onClose });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen((at) => Math.min(at + 1, entries.length - 1));
    else if (event.key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0));
    else if (event.key === 'Enter') entries[chosen]?.go();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open={open} onClose={onClose} title="Go to …">
      <label className="flex items-center gap-2 rounded-md border border-line-strong px-2 focus-within:border-accent">
        <Search aria-hidden className="size-4 text-ink-faint" />
        <span className="sr-only">Page, job or search</span>
        <input
          autoFocus
          value={text}
          onChange={(event) => {
            // The dialog does not see that something was typed, so a click outside closes it: nothing is lost.
            event.stopPropagation();
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
          placeholder="A page, a job's id, or words to search for"
          className="h-9 w-full bg-transparent outline-none placeholder:text-ink-faint"
        />
      </label>
      <EntryList entries={entries} chosen={chosen} onChoose={setChosen} />
    </Dialog>
  );
}

/** What the text finds: pages and tasks by a part of their name, one job by its id, and searches for the text. */
function useEntries(text: string, { open, onClose }: { open: boolean; onClose: () => void }): Entry[] {
  const navigate = useNavigate();
  const links = usePageLinks();
  const tasks = useTasks({ isWanted: open }).data?.data;
  return useMemo(() => {
    const asked = text.trim();
    const isFound = (name: string): boolean => name.toLowerCase().includes(asked.toLowerCase());
    const go =
      (to: string, search: Record<string, string> = {}) =>
      () => {
        onClose();
        void navigate({ to, search } as never);
      };
    const pages = links
      .filter(({ name }) => isFound(name))
      .map(({ to, name, letter }) => ({ name, hint: `g ${letter}`, go: go(to) }));
    if (asked === '') return pages;
    if (asked.startsWith('job_')) return [{ name: `Job ${asked}`, hint: 'open', go: go(`/jobs/${asked}`) }];
    const named = (tasks ?? [])
      .filter(({ type }) => isFound(type))
      .slice(0, taskCountMax)
      .map(({ type }) => ({
        name: `Task ${type}`,
        hint: 'open',
        go: go(`/tasks/${encodeURIComponent(type)}`),
      }));
    return [
      ...pages,
      ...named,
      { name: `Jobs that match “${asked}”`, hint: 'search', go: go('/jobs', { q: asked }) },
      { name: `Schedules named “${asked}”`, hint: 'search', go: go('/schedules', { q: asked }) },
    ];
  }, [text, navigate, onClose, links, tasks]);
}

function EntryList({
  entries,
  chosen,
  onChoose,
}: {
  entries: readonly Entry[];
  chosen: number;
  onChoose: (at: number) => void;
}) {
  return (
    <ul className="mt-2">
      {entries.map((entry, at) => (
        <li key={entry.name}>
          <button
            type="button"
            onClick={entry.go}
            onPointerEnter={() => onChoose(at)}
            className={`flex w-full items-center justify-between rounded-md px-2 py-1.5 text-left ${at === chosen ? 'bg-accent-soft' : ''}`}
          >
            <span className="truncate">{entry.name}</span>
            <kbd className="text-xs text-ink-faint">{entry.hint}</kbd>
          </button>
        </li>
      ))}
    </ul>
  );
}
