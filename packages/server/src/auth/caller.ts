/** What a caller may do. Each scope holds those before it. */
export const scopes = ['read', 'run', 'operate', 'admin'] as const;

/**
 * `read`: look. `run`: also do what programs do: make jobs, cancel one, trigger a schedule, work as a worker, use values and locks. `operate`: also what people
 * do to promises already made: retry, bulk actions, schedules, pauses, draining. `admin`: also keys, webhooks, alerts and the audit.
 */
export type Scope = (typeof scopes)[number];

/** Who asks. */
export interface Caller {
  /** Kept in the audit of everything they do: `key:<id>`. */
  actor: string;
  scope: Scope;
  /** The one tenant whose work they see; null: all. */
  tenant: string | null;
}

/** Whether a scope holds another. */
export function allows(scope: Scope, needed: Scope): boolean {
  return scopes.indexOf(scope) >= scopes.indexOf(needed);
}
