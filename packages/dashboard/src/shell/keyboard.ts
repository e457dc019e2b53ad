import { useEffect } from 'react';

/** Whether a person is typing, and a letter is a letter. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** What keys do. Names are a key (`/`, `?`), or two in a row (`g j`); `mod+k` is ⌘K or Ctrl K. */
export type Shortcuts = Readonly<Record<string, () => void>>;

const sequenceMs = 1_200;

/** Listens to the keyboard while the component is there. */
export function useShortcuts(shortcuts: Shortcuts): void {
  useEffect(() => {
    let first = '';
    let firstAt = 0;
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        shortcuts['mod+k']?.();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const isSecond = first !== '' && event.timeStamp - firstAt < sequenceMs;
      const name = isSecond ? `${first} ${event.key}` : event.key;
      const action = shortcuts[name];
      first = isSecond ? '' : event.key;
      firstAt = event.timeStamp;
      if (action === undefined) return;
      event.preventDefault();
      first = '';
      action();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, [shortcuts]);
}
