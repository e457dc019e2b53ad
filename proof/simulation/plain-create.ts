import type { Create } from './script.ts';

/** A job made at once, with nothing asked for beside it; a step says which task and how many. */
export const plainCreate = {
  do: 'create',
  delayMs: null,
  isInstant: false,
  failures: 0,
  serial: null,
  dedupe: null,
  dedupeForMs: null,
  maxWaitMs: null,
  queue: null,
  tenant: null,
  priority: 0,
} as const satisfies Partial<Create>;
