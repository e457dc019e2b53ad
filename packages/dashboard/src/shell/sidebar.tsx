import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Clock, LogOut } from 'lucide-react';
import { sessionKey } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { useZone } from '../time/zone.tsx';
import { IconButton } from '../ui/button.tsx';
import { useToasts } from '../ui/toast.tsx';
import { useCaller, usePageLinks } from './caller.tsx';

/** The links to all pages. On a small screen it is a menu over the page. */
export function Sidebar({ isMenuOpen, onClose }: { isMenuOpen: boolean; onClose: () => void }) {
  const { zone, switchZone } = useZone();
  return (
    <>
      <nav
        aria-label="Pages"
        className={`${isMenuOpen ? 'flex' : 'hidden'} fixed inset-y-0 left-0 z-30 w-52 shrink-0 flex-col border-r border-line bg-surface lg:sticky lg:top-0 lg:flex lg:h-dvh`}
      >
        <Link to="/" className="flex h-12 items-center gap-2 px-4 text-base font-semibold">
          <Logo />
          Duly
        </Link>
        <Navigation onNavigate={onClose} />
        <button
          type="button"
          onClick={switchZone}
          className="flex h-10 items-center gap-2.5 border-t border-line px-4.5 text-sm text-ink-soft sm:hidden"
        >
          <Clock aria-hidden className="size-4" />
          Times in {zone === 'utc' ? 'UTC' : 'local time'}
        </button>
        <Account />
      </nav>
      {isMenuOpen && (
        <button
          type="button"
          aria-label="Close the menu"
          className="fixed inset-0 z-20 bg-black/40 lg:hidden"
          onClick={onClose}
        />
      )}
    </>
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

/** Who is signed in, with which scope and tenant, and the way to sign out. */
function Account() {
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
