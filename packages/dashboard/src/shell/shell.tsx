import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import {
  CircleHelp,
  Clock,
  LogOut,
  Menu,
  Monitor,
  Moon,
  Pause,
  Play,
  Search,
  Sun,
  WifiOff,
} from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import { sessionKey } from '../api/queries.ts';
import { isUnauthorized, request } from '../api/request.ts';
import { LiveProvider, useLive } from '../live/live.tsx';
import { type Theme, useTheme } from '../theme/theme.tsx';
import { useZone } from '../time/zone.tsx';
import { IconButton } from '../ui/button.tsx';
import { awayText } from '../ui/states.tsx';
import { useToasts } from '../ui/toast.tsx';
import { useCaller, usePageLinks, useSession } from './caller.tsx';
import { Help } from './help.tsx';
import { type Shortcuts, useShortcuts } from './keyboard.ts';
import { Palette } from './palette.tsx';
import { SignIn } from './sign-in.tsx';

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const themeIcons = { system: Monitor, light: Sun, dark: Moon };

/** The dashboard, or the way in. */
export function Root() {
  const session = useSession();
  if (isUnauthorized(session.error)) return <SignIn wasIn={session.data !== undefined} />;
  return (
    <LiveProvider>
      <Shell />
    </LiveProvider>
  );
}

/** What stands around every page: navigation, the live switch, zone and theme, keyboard. */
function Shell() {
  const navigate = useNavigate();
  const links = usePageLinks();
  const live = useLive();
  const { theme, setTheme } = useTheme();
  const { zone, name: zoneName, setZone } = useZone();
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const closePalette = useCallback(() => setPaletteOpen(false), []);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);

  const shortcuts = useMemo((): Shortcuts => {
    const pages = links.map(({ letter, to }) => [`g ${letter}`, () => void navigate({ to } as never)]);
    return {
      ...Object.fromEntries(pages),
      'mod+k': () => setPaletteOpen((isOpen) => !isOpen),
      '?': () => setHelpOpen(true),
      '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
      p: () => (live.state === 'paused' ? live.resume() : live.pause()),
      t: () => setTheme(nextTheme[theme]),
      z: () => setZone(zone === 'utc' ? 'local' : 'utc'),
    };
  }, [navigate, live, theme, setTheme, zone, setZone, links]);
  useShortcuts(shortcuts);

  const ThemeIcon = themeIcons[theme];
  return (
    <div className="flex min-h-dvh">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the page
      </a>
      <nav
        aria-label="Pages"
        className={`${isMenuOpen ? 'flex' : 'hidden'} fixed inset-y-0 left-0 z-30 w-52 shrink-0 flex-col border-r border-line bg-surface lg:sticky lg:top-0 lg:flex lg:h-dvh`}
      >
        <Link to="/" className="flex h-12 items-center gap-2 px-4 text-base font-semibold">
          <Logo />
          Duly
        </Link>
        <Navigation onNavigate={() => setMenuOpen(false)} />
        <button
          type="button"
          onClick={() => setZone(zone === 'utc' ? 'local' : 'utc')}
          className="flex h-10 items-center gap-2.5 border-t border-line px-4.5 text-sm text-ink-soft sm:hidden"
        >
          <Clock aria-hidden className="size-4" />
          Times in {zone === 'utc' ? 'UTC' : 'local time'}
        </button>
        <Whoever />
      </nav>
      {isMenuOpen && (
        <button
          type="button"
          aria-label="Close the menu"
          className="fixed inset-0 z-20 bg-black/40 lg:hidden"
          onClick={() => setMenuOpen(false)}
        />
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-10 flex h-12 items-center gap-1 border-b border-line bg-surface/95 px-3 backdrop-blur">
          <IconButton label="Menu" className="lg:hidden" onClick={() => setMenuOpen(true)}>
            <Menu aria-hidden className="size-4" />
          </IconButton>
          <button
            type="button"
            onClick={() => setPaletteOpen(true)}
            className="mr-auto flex h-8 w-full max-w-sm items-center gap-2 rounded-md border border-line bg-canvas px-2.5 text-sm text-ink-faint hover:border-line-strong"
          >
            <Search aria-hidden className="size-4" />
            <span className="truncate">Go to a page, a job, a search …</span>
            <kbd className="ml-auto hidden text-xs sm:inline">⌘K</kbd>
          </button>
          <LiveSwitch />
          <button
            type="button"
            onClick={() => setZone(zone === 'utc' ? 'local' : 'utc')}
            title={`Times are in ${zoneName}. Switch to ${zone === 'utc' ? 'local time' : 'UTC'}.`}
            className="hidden h-8 items-center gap-1.5 rounded-md px-2 text-xs font-medium text-ink-soft hover:bg-raised sm:inline-flex"
          >
            <Clock aria-hidden className="size-3.5" />
            {zone === 'utc' ? 'UTC' : 'Local'}
          </button>
          <IconButton
            label={`Theme: ${theme}. Switch to ${nextTheme[theme]}.`}
            onClick={() => setTheme(nextTheme[theme])}
          >
            <ThemeIcon aria-hidden className="size-4" />
          </IconButton>
          <IconButton label="Keyboard help" onClick={() => setHelpOpen(true)}>
            <CircleHelp aria-hidden className="size-4" />
          </IconButton>
        </header>
        {live.trouble !== null && (
          <p
            role="status"
            className="flex items-center gap-2 border-b border-warn/40 bg-warn-soft px-4 py-2 text-sm text-warn"
          >
            <WifiOff aria-hidden className="size-4 shrink-0" />
            {awayText(live.trouble)} What is shown may be old.
          </p>
        )}
        <main id="main" className="mx-auto w-full max-w-[100rem] flex-1 px-4 py-5 lg:px-6">
          <Outlet />
        </main>
      </div>
      <Palette open={isPaletteOpen} onClose={closePalette} />
      <Help open={isHelpOpen} onClose={() => setHelpOpen(false)} />
    </div>
  );
}

/** Who looks, by which right, and the way out. */
function Whoever() {
  const queries = useQueryClient();
  const toasts = useToasts();
  const caller = useCaller();
  if (caller === undefined) return null;
  const { actor, scope, tenant } = caller;
  const signOut = () =>
    request('DELETE', 'api/session').then(
      () => queries.resetQueries({ queryKey: sessionKey }),
      toasts.complain,
    );
  return (
    <div className="flex items-center gap-2 border-t border-line py-1.5 pr-2 pl-4.5">
      <p className="min-w-0 flex-1 text-xs text-ink-soft">
        <span className="block truncate font-mono" title={actor}>
          {actor}
        </span>
        <span className="block truncate text-ink-faint">
          {scope}
          {tenant !== null && `, ${tenant}`}
        </span>
      </p>
      <IconButton label="Sign out" onClick={() => void signOut()}>
        <LogOut aria-hidden className="size-4" />
      </IconButton>
    </div>
  );
}

function Logo() {
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32" className="size-6">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <circle cx="16" cy="16" r="9" fill="none" strokeWidth="2.5" className="stroke-accent-ink" />
      <path
        d="M16 10.5V16l3.8 2.6"
        fill="none"
        strokeWidth="2.5"
        strokeLinecap="round"
        className="stroke-accent-ink"
      />
    </svg>
  );
}

function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const links = usePageLinks();
  return (
    <ul className="flex-1 space-y-0.5 overflow-y-auto px-2 py-2">
      {links.map(({ to, name, icon: Icon }) => (
        <li key={to}>
          <Link
            to={to}
            onClick={onNavigate}
            activeOptions={{ exact: to === '/' }}
            className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm text-ink-soft hover:bg-raised hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent"
          >
            <Icon aria-hidden className="size-4" />
            {name}
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Whether the page moves by itself, and the way to hold it. */
function LiveSwitch() {
  const { state, pause, resume } = useLive();
  const styles = {
    live: { icon: Pause, word: 'Live', label: 'Live. Pause what moves.', className: 'text-good' },
    paused: { icon: Play, word: 'Paused', label: 'Paused. Go on.', className: 'text-warn' },
    away: {
      icon: WifiOff,
      word: 'Away',
      label: 'The server does not answer. Retrying.',
      className: 'text-bad',
    },
  } as const;
  const { icon: Icon, word, label, className } = styles[state];
  return (
    <button
      type="button"
      onClick={state === 'paused' ? resume : pause}
      title={label}
      aria-label={label}
      className={`inline-flex h-8 shrink-0 items-center gap-1.5 rounded-md px-2 text-xs font-medium hover:bg-raised ${className}`}
    >
      <Icon aria-hidden className="size-3.5" />
      {word}
    </button>
  );
}
