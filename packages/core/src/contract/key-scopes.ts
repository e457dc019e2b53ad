/** What a key of the HTTP API may do. Each scope includes those before it. */
export const scopes = ['read', 'run', 'operate', 'admin'] as const;

/**
 * `read`: look. `run`: also what programs do: create jobs, cancel one, trigger a schedule, work as a worker, use values and locks. `operate`: also
 * what people do to existing jobs: retry, bulk actions, schedules, pauses, draining. `admin`: also keys, webhooks, alerts and the audit.
 */
export type Scope = (typeof scopes)[number];

/** Whether a scope includes another. */
export function allows(scope: Scope, needed: Scope): boolean {
  return scopes.indexOf(scope) >= scopes.indexOf(needed);
}
