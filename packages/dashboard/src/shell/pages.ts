import type { Scope } from '@duly/core/internal/browser';
import {
  Activity,
  Bell,
  Blocks,
  CalendarClock,
  CalendarDays,
  ChartLine,
  FileClock,
  KeyRound,
  Layers,
  ListChecks,
  Lock,
  type LucideIcon,
  Server,
  Skull,
  Webhook,
} from 'lucide-react';

/** A page of the dashboard, as the navigation, the palette and the keyboard know it. */
export interface PageLink {
  to: string;
  name: string;
  icon: LucideIcon;
  /** The letter after `g`. */
  letter: string;
  /** The least a key must be allowed to see the page. */
  scope: Scope;
  /** It is about the whole store, of which a tenant's key sees its part only. */
  isOfStore?: true;
}

/** All pages, in the order of the navigation. */
export const pageLinks: readonly PageLink[] = [
  { to: '/', name: 'Overview', icon: Activity, letter: 'o', scope: 'read' },
  { to: '/jobs', name: 'Jobs', icon: ListChecks, letter: 'j', scope: 'read' },
  { to: '/schedules', name: 'Schedules', icon: CalendarClock, letter: 's', scope: 'read' },
  { to: '/day', name: 'Day', icon: CalendarDays, letter: 'd', scope: 'read' },
  { to: '/forecast', name: 'Forecast', icon: ChartLine, letter: 'f', scope: 'read' },
  { to: '/tasks', name: 'Tasks', icon: Blocks, letter: 't', scope: 'read', isOfStore: true },
  { to: '/queues', name: 'Queues', icon: Layers, letter: 'q', scope: 'read', isOfStore: true },
  { to: '/nodes', name: 'Nodes', icon: Server, letter: 'n', scope: 'read', isOfStore: true },
  { to: '/dead', name: 'Dead letters', icon: Skull, letter: 'x', scope: 'read' },
  { to: '/locks', name: 'Locks', icon: Lock, letter: 'l', scope: 'read', isOfStore: true },
  { to: '/alerts', name: 'Alerts', icon: Bell, letter: 'a', scope: 'read', isOfStore: true },
  { to: '/webhooks', name: 'Webhooks', icon: Webhook, letter: 'h', scope: 'admin' },
  { to: '/keys', name: 'Keys', icon: KeyRound, letter: 'k', scope: 'admin', isOfStore: true },
  { to: '/audit', name: 'Audit', icon: FileClock, letter: 'u', scope: 'operate', isOfStore: true },
];
