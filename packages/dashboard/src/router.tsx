import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  stringifySearchWith,
} from '@tanstack/react-router';
import { mount } from './api/place.ts';
import { Root } from './shell/shell.tsx';
import { Broken, NoSuchPage } from './ui/states.tsx';

/** What stands behind the question mark, as it is. Every filter lives there, so that Back, reload and a link keep the state. */
type Search = Record<string, string>;

const readSearch = (search: Record<string, unknown>): Search =>
  Object.fromEntries(
    Object.entries(search)
      .filter(([, value]) => value !== undefined && value !== null && value !== '')
      .map(([name, value]) => [name, String(value)]),
  );

const root = createRootRoute({
  component: Root,
  notFoundComponent: NoSuchPage,
  validateSearch: readSearch,
});

/** A page that is fetched when it is first looked at. */
const page = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => root, path, component });

const routes = root.addChildren([
  page(
    '/',
    lazyRouteComponent(() => import('./pages/overview.tsx'), 'OverviewPage'),
  ),
  page(
    '/jobs',
    lazyRouteComponent(() => import('./pages/jobs.tsx'), 'JobsPage'),
  ),
  page(
    '/jobs/$id',
    lazyRouteComponent(() => import('./pages/job.tsx'), 'JobPage'),
  ),
  page(
    '/schedules',
    lazyRouteComponent(() => import('./pages/schedules.tsx'), 'SchedulesPage'),
  ),
  page(
    '/schedules/$id',
    lazyRouteComponent(() => import('./pages/schedule.tsx'), 'SchedulePage'),
  ),
  page(
    '/tasks',
    lazyRouteComponent(() => import('./pages/tasks.tsx'), 'TasksPage'),
  ),
  page(
    '/tasks/$type',
    lazyRouteComponent(() => import('./pages/task.tsx'), 'TaskPage'),
  ),
  page(
    '/locks',
    lazyRouteComponent(() => import('./pages/locks.tsx'), 'LocksPage'),
  ),
  page(
    '/queues',
    lazyRouteComponent(() => import('./pages/queues.tsx'), 'QueuesPage'),
  ),
  page(
    '/nodes',
    lazyRouteComponent(() => import('./pages/nodes.tsx'), 'NodesPage'),
  ),
  page(
    '/dead',
    lazyRouteComponent(() => import('./pages/dead.tsx'), 'DeadPage'),
  ),
  page(
    '/webhooks',
    lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
  ),
  page(
    '/webhooks/$id',
    lazyRouteComponent(() => import('./pages/webhook.tsx'), 'WebhookPage'),
  ),
  page(
    '/keys',
    lazyRouteComponent(() => import('./pages/keys.tsx'), 'KeysPage'),
  ),
  page(
    '/audit',
    lazyRouteComponent(() => import('./pages/audit.tsx'), 'AuditPage'),
  ),
  page(
    '/day',
    lazyRouteComponent(() => import('./pages/day.tsx'), 'DayPage'),
  ),
  page(
    '/forecast',
    lazyRouteComponent(() => import('./pages/forecast.tsx'), 'ForecastPage'),
  ),
  page(
    '/alerts',
    lazyRouteComponent(() => import('./pages/alerts.tsx'), 'AlertsPage'),
  ),
]);

/** The routes of the dashboard, under whatever path it is mounted. */
export const router = createRouter({
  routeTree: routes,
  basepath: mount,
  // As they were typed: `?hours=168`, and a search for "two words" keeps its quotes. The router would write and read them as JSON.
  parseSearch: parseSearchWith((text) => text),
  stringifySearch: stringifySearchWith(String),
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: Broken,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
