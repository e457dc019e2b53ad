import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from './button.tsx';

/** A dialog over the page. Escape and a click outside close it. */
export function Dialog({
  open,
  onClose,
  title,
  children,
  actions,
  wide = false,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  actions?: ReactNode;
  wide?: boolean;
}) {
  return (
    <Base.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Base.Popup
          className={`fixed top-[10vh] left-1/2 z-50 flex max-h-[80vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-xl border border-line bg-surface text-ink shadow-2xl ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <header className="flex items-center justify-between gap-4 border-b border-line px-4 py-2.5">
            <Base.Title className="font-semibold">{title}</Base.Title>
            <Base.Close
              render={
                <IconButton label="Close">
                  <X aria-hidden className="size-4" />
                </IconButton>
              }
            />
          </header>
          <div className="overflow-y-auto px-4 py-3">{children}</div>
          {actions !== undefined && (
            <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-4 py-3">
              {actions}
            </footer>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
