import { isDulyError } from '../../base/errors.ts';

/** How a setting stands. `failing`: the store cannot be used, or loses what it holds. `warning`: a promise may not be kept, or it will get slow. `note`: good to know. */
export type SettingState = 'ok' | 'note' | 'warning' | 'failing';

/** One thing about a store itself that was looked at. */
export interface SettingCheck {
  /** For programs: `synchronous_commit`, `transactions`, `listen`. */
  name: string;
  state: SettingState;
  /** What was found, and what it means, in a sentence or two. */
  message: string;
  /** What to do about it; null: nothing. */
  hint: string | null;
}

/** What a look at a store's settings has found. */
export interface StoreExamination {
  /** Where it is, without secrets. */
  place: string;
  /** The worst of all checks. */
  state: SettingState;
  checks: SettingCheck[];
}

const states: readonly SettingState[] = ['failing', 'warning', 'note'];

/** Puts an examination together. */
export function examinationOf(place: string, checks: SettingCheck[]): StoreExamination {
  return { place, state: states.find((state) => checks.some((one) => one.state === state)) ?? 'ok', checks };
}

/** All is well with this. */
export function ok(name: string, message: string): SettingCheck {
  return { name, state: 'ok', message, hint: null };
}

/** Something is worth a word. */
export function found(
  state: Exclude<SettingState, 'ok'>,
  name: string,
  message: string,
  hint: string | null,
): SettingCheck {
  return { name, state, message, hint };
}

/** A failure of the store as a check: its code names it. */
export function failureOf(error: unknown): SettingCheck {
  if (!isDulyError(error)) throw error;
  return found('failing', error.code, error.message, error.hint ?? null);
}
