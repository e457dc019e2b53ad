import type { ComponentProps, ReactNode } from 'react';

/** How much a button asks for: the one thing to do here, one of several, a quiet one, or one that ends something. */
export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

const kinds: Record<ButtonKind, string> = {
  primary: 'bg-accent text-accent-ink hover:brightness-110',
  plain: 'border border-line-strong bg-surface text-ink hover:bg-raised',
  quiet: 'text-ink-soft hover:bg-raised hover:text-ink',
  danger: 'border border-bad/40 bg-surface text-bad hover:bg-bad-soft',
};

function classOf(kind: ButtonKind, className = ''): string {
  return `inline-flex h-8 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-50 ${kinds[kind]} ${className}`;
}

/** A button. A double click is one: the second comes before anything on the page can know of the first, and would do it twice. */
export function Button({
  kind = 'plain',
  className,
  onClick,
  ...props
}: ComponentProps<'button'> & { kind?: ButtonKind }) {
  return (
    <button
      type="button"
      {...props}
      onClick={(event) => {
        if (event.detail <= 1) onClick?.(event);
      }}
      className={classOf(kind, className)}
    />
  );
}

/** A button that shows an icon; its name is told to those who do not see it, and on hover. */
export function IconButton({
  label,
  children,
  className,
  ...props
}: ComponentProps<'button'> & { label: string; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...props}
      className={`inline-flex size-8 items-center justify-center rounded-md text-ink-soft transition-colors hover:bg-raised hover:text-ink disabled:opacity-50 ${className ?? ''}`}
    >
      {children}
    </button>
  );
}
