import { PageHead } from '../ui/panel.tsx';

/** All promises at a glance. */
export function OverviewPage() {
  return <PageHead title="Overview" />;
}
