import type { Scope } from '@duly/core/internal/browser';

/** Who asks. */
export interface Caller {
  /** Kept in the audit of everything they do: `key:<id>`. */
  actor: string;
  scope: Scope;
  /** The one tenant whose work they see; null: all. */
  tenant: string | null;
}
