import type { ComponentProps, ReactNode } from 'react';

const box = 'w-full rounded-md border border-line-strong bg-canvas px-2.5 text-sm';

/** A name above something that is typed or chosen. */
export function Field({
  name,
  hint,
  problem,
  children,
}: {
  name: string;
  hint?: ReactNode;
  problem?: string | null;
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children
    <label className="block text-sm">
      <span className="mb-1 block font-medium">{name}</span>
      {children}
      {hint != null && <span className="mt-1 block text-xs text-ink-soft">{hint}</span>}
      {problem != null && (
        <span role="alert" className="mt-1 block text-xs text-bad">
          {problem}
        </span>
      )}
    </label>
  );
}

/** A line to type in. */
export function TextInput({ className, ...props }: ComponentProps<'input'>) {
  return <input {...props} className={`${box} h-8 ${className ?? ''}`} />;
}

/** Lines to type in. */
export function TextArea({ className, ...props }: ComponentProps<'textarea'>) {
  return <textarea {...props} className={`${box} py-2 font-mono text-xs ${className ?? ''}`} />;
}

/** One of a few. */
export function Select({ className, ...props }: ComponentProps<'select'>) {
  return <select {...props} className={`${box} h-8 ${className ?? ''}`} />;
}
