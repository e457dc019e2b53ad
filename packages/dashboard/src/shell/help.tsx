import { Dialog } from '../ui/dialog.tsx';
import { usePageLinks } from './caller.tsx';

const general: readonly [string, string][] = [
  ['/', 'Search on this page'],
  ['⌘K or Ctrl K', 'Go to a page, a job or a search'],
  ['p', 'Pause and resume what moves'],
  ['t', 'Light, dark, system'],
  ['z', 'UTC or local time'],
  ['?', 'This help'],
];

/** What the keyboard can do. */
export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  const links = usePageLinks();
  const rows = [...general, ...links.map(({ letter, name }): [string, string] => [`g ${letter}`, name])];
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard">
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {rows.map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-raised px-1.5 py-0.5 font-mono text-xs">
                {keys}
              </kbd>
            </dt>
            <dd className="text-sm">{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
