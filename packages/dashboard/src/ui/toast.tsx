import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
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
const shownMs = 6_000;
let last = 0;

/** Short messages about what was just done, in a corner. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [messages, setMessages] = useState<Message[]>([]);
  const show = useCallback((text: string, isBad: boolean) => {
    const id = ++last;
    setMessages((all) => [...all.slice(-3), { id, text, isBad }]);
    setTimeout(() => setMessages((all) => all.filter((one) => one.id !== id)), shownMs);
  }, []);
  const say = useCallback((text: string) => show(text, false), [show]);
  const complain = useCallback((error: unknown) => show(textOf(error), true), [show]);
  return (
    <ToastContext value={{ say, complain }}>
      {children}
      <div aria-live="polite" className="fixed right-4 bottom-4 z-50 flex max-w-sm flex-col gap-2">
        {messages.map(({ id, text, isBad }) => (
          <p
            key={id}
            className={`rounded-lg border px-3 py-2 text-sm shadow-lg ${isBad ? 'border-bad/40 bg-bad-soft text-bad' : 'border-line bg-surface'}`}
          >
            {text}
          </p>
        ))}
      </div>
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
