import { Outlet, useNavigate } from '@tanstack/react-router';
import { WifiOff } from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import { isUnauthorized } from '../api/request.ts';
import { LiveProvider, useLive } from '../live/live.tsx';
import { useTheme } from '../theme/theme.tsx';
import { useZone } from '../time/zone.tsx';
import { awayText } from '../ui/states.tsx';
import { usePageLinks, useSession } from './caller.tsx';
import { Help } from './help.tsx';
import { type Shortcuts, useShortcuts } from './keyboard.ts';
import { Palette } from './palette.tsx';
import { Sidebar } from './sidebar.tsx';
import { SignIn } from './sign-in.tsx';
import { TopBar } from './top-bar.tsx';

/** The dashboard, or the sign-in page. */
export function Root() {
  const session = useSession();
  if (isUnauthorized(session.error)) return <SignIn wasIn={session.data !== undefined} />;
  return (
    <LiveProvider>
      <Shell />
    </LiveProvider>
  );
}

/** What is around every page: navigation, top bar, palette, keyboard. */
function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const openHelp = useCallback(() => setHelpOpen(true), []);
  const closePalette = useCallback(() => setPaletteOpen(false), []);
  const togglePalette = useCallback(() => setPaletteOpen((isOpen) => !isOpen), []);
  useShellShortcuts({ togglePalette, openHelp });

  return (
    <div className="flex min-h-dvh">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the page
      </a>
      <Sidebar isMenuOpen={isMenuOpen} onClose={() => setMenuOpen(false)} />
      <div className="flex min-w-0 flex-1 flex-col">
        <TopBar onMenu={() => setMenuOpen(true)} onPalette={() => setPaletteOpen(true)} onHelp={openHelp} />
        <AwayNote />
        <main id="main" className="mx-auto w-full max-w-[100rem] flex-1 px-4 py-5 lg:px-6">
          <Outlet />
        </main>
      </div>
      <Palette open={isPaletteOpen} onClose={closePalette} />
      <Help open={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  );
}

/** The keys that work on every page. */
function useShellShortcuts({ togglePalette, openHelp }: { togglePalette(): void; openHelp(): void }) {
  const navigate = useNavigate();
  const links = usePageLinks();
  const live = useLive();
  const { switchTheme } = useTheme();
  const { switchZone } = useZone();
  const shortcuts = useMemo((): Shortcuts => {
    const pages = links.map(({ letter, to }) => [`g ${letter}`, () => void navigate({ to } as never)]);
    return {
      ...Object.fromEntries(pages),
      'mod+k': togglePalette,
      '?': openHelp,
      '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
      p: () => (live.state === 'paused' ? live.resume() : live.pause()),
      t: switchTheme,
      z: switchZone,
    };
  }, [navigate, links, live, switchTheme, switchZone, togglePalette, openHelp]);
  useShortcuts(shortcuts);
}

/** Says that the server or the store cannot be reached, while that is so. */
function AwayNote() {
  const { trouble } = useLive();
  if (trouble === null) return null;
  return (
    <p
      role="status"
      className="flex items-center gap-2 border-b border-warn/40 bg-warn-soft px-4 py-2 text-sm text-warn"
    >
      <WifiOff aria-hidden className="size-4 shrink-0" />
      {awayText(trouble)} What is shown may be old.
    </p>
  );
}
