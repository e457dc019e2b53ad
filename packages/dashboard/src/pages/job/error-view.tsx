import type { JobErrorJson } from '@duly/core/internal';

/** An error with its causes; the stack only where the key may see it. */
export function ErrorView({ error }: { error: JobErrorJson }) {
  return (
    <div className="px-4 py-3">
      <p className="text-sm font-medium text-bad">
        {error.name}
        {error.code !== undefined && <span className="ml-2 font-mono text-xs">{error.code}</span>}
      </p>
      <p className="mt-1 text-sm break-words whitespace-pre-wrap">{error.message}</p>
      {error.stack !== undefined && (
        <details className="mt-2">
          <summary className="cursor-pointer text-xs text-ink-soft">Stack</summary>
          <pre className="mt-1 max-h-72 overflow-auto rounded-md bg-raised px-3 py-2 font-mono text-xs">
            {error.stack}
          </pre>
        </details>
      )}
      {error.cause !== undefined && (
        <div className="mt-2 border-l-2 border-line pl-2">
          <p className="text-xs text-ink-faint">caused by</p>
          <ErrorView error={error.cause} />
        </div>
      )}
    </div>
  );
}
