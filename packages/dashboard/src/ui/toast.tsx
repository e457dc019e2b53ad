import { X } from 'lucide-react';
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { createPortal } from 'react-dom';
import { RequestError } from '../api/request.ts';

interface Message {
  id: number;
  text: string;
  isBad: boolean;
}

interface Toasts {
  /** Says that something was done. */
  say(text: string): void;
  /** Says why something was not done. */
  complain(error: unknown): void;
}

const ToastContext = createContext<Toasts>({ say: () => {}, complain: () => {} });
const saidMs = 6_000;
/** What went wrong is read, and often read again. */
const complainedMs = 20_000;
let last = 0;

/** Short messages about what was just done, in a corner, before any dialog: what is wrong with a form is told while it is open. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const close = useCallback((id: number) => setMessages((all) => all.filter((one) => one.id !== id)), []);
  const show = useCallback(
    (text: string, isBad: boolean) => {
      const id = ++last;
      setMessages((all) => [...all.filter((one) => one.text !== text).slice(-3), { id, text, isBad }]);
      setTimeout(() => close(id), isBad ? complainedMs : saidMs);
    },
    [close],
  );
  const say = useCallback((text: string) => show(text, false), [show]);
  const complain = useCallback((error: unknown) => show(textOf(error), true), [show]);
  return (
    <ToastContext value={{ say, complain }}>
      {children}
      {createPortal(
        <div
          data-toasts
          aria-live="polite"
          className="pointer-events-none fixed inset-x-4 bottom-4 z-60 ml-auto flex max-w-sm flex-col gap-2"
        >
          {messages.map(({ id, text, isBad }) => (
            <div
              key={id}
              className={`pointer-events-auto flex items-start gap-2 rounded-lg border py-2 pr-2 pl-3 text-sm shadow-lg ${isBad ? 'border-bad/40 bg-bad-soft text-bad' : 'border-line bg-surface text-ink'}`}
            >
              <p className="min-w-0 flex-1">{text}</p>
              <button
                type="button"
                aria-label="Close the message"
                className="shrink-0 rounded p-0.5 hover:bg-raised"
                onClick={() => close(id)}
              >
                <X aria-hidden className="size-4" />
              </button>
            </div>
          ))}
        </div>,
        document.body,
      )}
    </ToastContext>
  );
}

function textOf(error: unknown): string {
  if (!(error instanceof RequestError)) return String((error as Error)?.message ?? error);
  const { detail, hint } = error.problem;
  return hint === undefined ? detail : `${detail} ${hint}`;
}

/** The way to tell the reader what was done. */
export function useToasts(): Toasts {
  return useContext(ToastContext);
}
