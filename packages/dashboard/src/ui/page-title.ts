import { useEffect } from 'react';

/** Names the page in the browser: in its tabs and its history. */
export function usePageTitle(name: string | null): void {
  useEffect(() => {
    if (name !== null) document.title = `${name} · Duly`;
  }, [name]);
}
