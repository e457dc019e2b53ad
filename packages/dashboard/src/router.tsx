import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { mount } from './api/place.ts';
import { Shell } from './shell/shell.tsx';
import { NothingYet } from './ui/states.tsx';

/** What stands behind the question mark, as it is. Every filter lives there, so that Back, reload and a link keep the state. */
type Search = Record<string, string>;

const readSearch = (search: Record<string, unknown>): Search =>
  Object.fromEntries(
    Object.entries(search)
      .filter(([, value]) => value !== undefined && value !== null && value !== '')
      .map(([name, value]) => [name, String(value)]),
  );

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <NothingYet title="There is no such page." />,
  validateSearch: readSearch,
});

const page = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => root, path, component });

const routes = [
  page(
    '/',
    lazyRouteComponent(() => import('./pages/overview.tsx'), 'OverviewPage'),
  ),
];

/** The routes of the dashboard, under whatever path it is mounted. */
export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: mount,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
