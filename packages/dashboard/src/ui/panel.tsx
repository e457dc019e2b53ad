import type { ReactNode } from 'react';
import { usePageTitle } from './page-title.ts';

/** A part of a page with a heading. */
export function Panel({
  title,
  actions,
  children,
  className,
  ...pointer
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
  onPointerEnter?: () => void;
  onPointerLeave?: () => void;
}) {
  return (
    <section {...pointer} className={`rounded-lg border border-line bg-surface ${className ?? ''}`}>
      {title !== undefined && (
        <header className="flex min-h-11 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2">
          <h2 className="min-w-0 text-sm font-semibold">{title}</h2>
          {actions !== undefined && <div className="flex items-center gap-2">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** The head of a page: what it is, a sentence, and what can be done. */
export function PageHead({
  title,
  name = typeof title === 'string' ? title : null,
  about,
  actions,
}: {
  title: ReactNode;
  /** What the browser calls the page, where the title is more than a text. */
  name?: string | null;
  about?: ReactNode;
  actions?: ReactNode;
}) {
  usePageTitle(name);
  return (
    <div className="mb-4 flex flex-wrap items-end justify-between gap-3">
      <div className="min-w-0">
        <h1 className="truncate text-xl font-semibold tracking-tight">{title}</h1>
        {about !== undefined && <p className="mt-0.5 text-sm text-ink-soft">{about}</p>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  );
}

/** A name and its value, as a list of facts shows them. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-ink-faint">{name}</dt>
      <dd className="mt-0.5 text-sm break-words">{children}</dd>
    </div>
  );
}
