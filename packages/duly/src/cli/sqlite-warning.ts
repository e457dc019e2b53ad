/**
 * Keeps Node from telling, with every command, that `node:sqlite` is experimental, as Nodes before 24.15 do. Only this one: other
 * warnings are the user's own.
 */
export function quietSqliteWarning(): void {
  const emit = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const text = typeof warning === 'string' ? warning : warning.message;
    if (!/^SQLite is an experimental feature/.test(text))
      (emit as (...all: unknown[]) => void)(warning, ...rest);
  }) as typeof process.emitWarning;
}
