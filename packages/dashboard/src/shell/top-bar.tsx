import { CircleHelp, Clock, Menu, Monitor, Moon, Pause, Play, Search, Sun, WifiOff } from 'lucide-react';
import { useLive } from '../live/live.tsx';
import { useTheme } from '../theme/theme.tsx';
import { useZone } from '../time/zone.tsx';
import { IconButton } from '../ui/button.tsx';

const themeIcons = { system: Monitor, light: Sun, dark: Moon };

/** The bar above every page: the way to the palette, and the switches for live updates, zone and theme. */
export function TopBar({
  onMenu,
  onPalette,
  onHelp,
}: {
  onMenu: () => void;
  onPalette: () => void;
  onHelp: () => void;
}) {
  return (
    <header className="sticky top-0 z-10 flex h-12 items-center gap-1 border-b border-line bg-surface/95 px-3 backdrop-blur">
      <IconButton label="Menu" className="lg:hidden" onClick={onMenu}>
        <Menu aria-hidden className="size-4" />
      </IconButton>
      <button
        type="button"
        onClick={onPalette}
        className="mr-auto flex h-8 w-full max-w-sm items-center gap-2 rounded-md border border-line bg-canvas px-2.5 text-sm text-ink-faint hover:border-line-strong"
      >
        <Search aria-hidden className="size-4" />
        <span className="truncate">Go to a page, a job, a search …</span>
        <kbd className="ml-auto hidden text-xs sm:inline">⌘K</kbd>
      </button>
      <LiveSwitch />
      <ZoneSwitch />
      <ThemeSwitch />
      <IconButton label="Keyboard help" onClick={onHelp}>
        <CircleHelp aria-hidden className="size-4" />
      </IconButton>
    </header>
  );
}

/** Whether the page shows changes as they happen, and the way to pause it. */
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

function ZoneSwitch() {
  const { zone, name, switchZone } = useZone();
  return (
    <button
      type="button"
      onClick={switchZone}
      title={`Times are in ${name}. Switch to ${zone === 'utc' ? 'local time' : 'UTC'}.`}
      className="hidden h-8 items-center gap-1.5 rounded-md px-2 text-xs font-medium text-ink-soft hover:bg-raised sm:inline-flex"
    >
      <Clock aria-hidden className="size-3.5" />
      {zone === 'utc' ? 'UTC' : 'Local'}
    </button>
  );
}

function ThemeSwitch() {
  const { theme, nextTheme, switchTheme } = useTheme();
  const Icon = themeIcons[theme];
  return (
    <IconButton label={`Theme: ${theme}. Switch to ${nextTheme}.`} onClick={switchTheme}>
      <Icon aria-hidden className="size-4" />
    </IconButton>
  );
}
