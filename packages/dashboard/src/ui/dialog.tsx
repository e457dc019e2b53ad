import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { IconButton } from './button.tsx';

/**
 * A dialog over the page. Escape closes it, and so does a click outside, as long as nothing was typed that would be lost. The first field
 * has the focus; afterwards it is where it was.
 */
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
  const body = useRef<HTMLDivElement>(null);
  const isTouched = useRef(false);
  return (
    <Base.Root
      open={open}
      onOpenChange={(isOpen, { reason, event }) => {
        const isOutside = reason === 'outside-press';
        // A message about this dialog is not outside of it.
        const isToast = event.target instanceof Element && event.target.closest('[data-toasts]') !== null;
        if (isOpen || (isOutside && (isToast || isTouched.current))) return;
        isTouched.current = false;
        onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/50" />
        <Base.Popup
          initialFocus={() =>
            body.current?.querySelector<HTMLElement>(
              'input:not([type="checkbox"]), select, textarea, [aria-pressed="true"]',
            ) ?? true
          }
          className={`fixed top-[max(1rem,10vh)] left-1/2 z-50 flex max-h-[80dvh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-xl border border-line bg-surface text-ink shadow-2xl max-sm:top-4 max-sm:max-h-[calc(100dvh-2rem)] ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <header className="flex items-center justify-between gap-4 border-b border-line px-4 py-2.5">
            <Base.Title className="min-w-0 font-semibold">{title}</Base.Title>
            <Base.Close
              render={
                <IconButton label="Close" className="shrink-0">
                  <X aria-hidden className="size-4" />
                </IconButton>
              }
            />
          </header>
          <div
            ref={body}
            className="overflow-y-auto px-4 py-3"
            onChange={() => {
              isTouched.current = true;
            }}
          >
            {children}
          </div>
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
