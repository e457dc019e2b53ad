import { Link } from '@tanstack/react-router';
import { BellRing, type LucideIcon, PauseCircle, TriangleAlert } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { pauseName, type Queue, useAlerts, useNodes, usePauses } from '../../api/operations.ts';
import { countText } from '../../api/page.ts';
import { Time, useNow } from '../../time/time.tsx';
import { Button } from '../../ui/button.tsx';
import { unhandledTypes } from './unhandled-types.ts';

/** Long enough for a worker that is just being started. */
const patienceMs = 10_000;
/** What comes after them is shown when it is asked for: the page is about more than this. */
const shownCount = 5;

interface Notice {
  key: string;
  tone: 'bad' | 'warn';
  icon: LucideIcon;
  text: ReactNode;
  /** Since when; null: it is not known. */
  at: string | null;
  /** Where something can be done about it. */
  link: { to: '/alerts' | '/queues' | '/nodes'; name: string };
}

/** Only what a person can do something about: alerts that fire, what is paused, and tasks that nobody handles. */
export function Warnings({ queues }: { queues: readonly Queue[] }) {
  const [isWhole, setWhole] = useState(false);
  const notices = [...useFiring(), ...usePaused(), ...useUnattended(queues)];
  const shown = isWhole ? notices : notices.slice(0, shownCount);
  const restCount = notices.length - shown.length;
  return (
    <>
      {shown.map(({ key, tone, icon: Icon, text, at, link }) => (
        <p
          key={key}
          role="status"
          className={`mb-2 flex items-start gap-2 rounded-lg border px-3 py-2 text-sm ${tone === 'bad' ? 'border-bad/40 bg-bad-soft text-bad' : 'border-warn/40 bg-warn-soft text-warn'}`}
        >
          <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
          <span className="min-w-0 flex-1">{text}</span>
          {at !== null && <Time at={at} className="shrink-0 text-xs leading-5" />}
          <Link to={link.to} className="shrink-0 text-xs leading-5 underline">
            {link.name}
          </Link>
        </p>
      ))}
      {restCount > 0 && (
        <Button kind="quiet" className="mb-2" onClick={() => setWhole(true)}>
          {restCount.toLocaleString('en')} more
        </Button>
      )}
    </>
  );
}

function useFiring(): Notice[] {
  return (useAlerts().data?.data ?? [])
    .filter(({ muted }) => !muted)
    .map(({ rule, subject, message, fired_at }) => ({
      key: `alert ${rule}/${subject}`,
      tone: 'bad',
      icon: BellRing,
      text: message,
      at: fired_at,
      link: { to: '/alerts', name: 'Alerts' },
    }));
}

/** What somebody has paused: whoever wonders why nothing starts sees it first. */
function usePaused(): Notice[] {
  return (usePauses().data?.data ?? []).map((pause) => ({
    key: `pause ${pauseName(pause)}`,
    tone: 'warn',
    icon: PauseCircle,
    text: (
      <>
        <span className="inline-block first-letter:uppercase">{pauseName(pause)}</span> is paused by{' '}
        {pause.by}
        {pause.note !== null && `: ${pause.note}`}
      </>
    ),
    at: pause.since_at,
    link: { to: '/queues', name: 'Queues' },
  }));
}

function useUnattended(queues: readonly Queue[]): Notice[] {
  const nodes = useNodes().data?.data;
  const now = useNow();
  if (nodes === undefined) return [];
  const handled = new Set(
    nodes.filter(({ silent }) => !silent).flatMap(({ tasks }) => tasks.map(({ type }) => type)),
  );
  const notice = { tone: 'warn', icon: TriangleAlert, at: null } as const;
  return [
    ...unhandledTypes(queues, handled, now - patienceMs).map(({ type, ready, queueCount }) => ({
      ...notice,
      key: `type ${type}`,
      text: `No worker handles ${type}: ${countText(ready)} ${ready.count === 1 ? 'waits' : 'wait'}${queueCount > 1 ? ` in ${queueCount.toLocaleString('en')} queues` : ''}. Start one that defines the task.`,
      link: { to: '/queues', name: 'Queues' } as const,
    })),
    ...nodes
      .filter(({ not_ready, roles }) => not_ready !== null && roles.includes('worker'))
      .map(({ id, host, pid, not_ready }) => ({
        ...notice,
        key: `node ${id}`,
        text: `The node on ${host} (pid ${pid}) takes no work: ${not_ready}`,
        link: { to: '/nodes', name: 'Nodes' } as const,
      })),
  ];
}
