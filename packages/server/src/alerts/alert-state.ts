/** From what rules find to who is told what: once when it fires, once when it resolves, nothing in between. Pure. */
import type { Finding } from './alert-kind.ts';

/** What is known of one subject of a rule. */
export interface AlertEntry {
  message: string;
  /** Since when the condition holds. */
  sinceAt: number;
  /** Since when it fires; null: it does not yet. */
  firedAt: number | null;
  /** Whether somebody was told that it fires. */
  isReported: boolean;
  /** It is over, and nobody was told because of a maintenance window; null: it holds. */
  resolvedAt: number | null;
}

/** What somebody is to be told. */
export interface AlertNotice {
  /** The same for the same news, so that it is told once whoever tells it. */
  id: string;
  event: 'fired' | 'resolved';
  rule: string;
  subject: string;
  message: string;
  firedAt: number;
  resolvedAt: number | null;
}

/** What is kept of a rule between two looks. */
export interface AlertState {
  entries: Record<string, AlertEntry>;
  /** Decided and not surely handed over yet. Handed over again after a crash; the notice's id keeps it from being told twice. */
  outbox: AlertNotice[];
}

/** Nothing holds and nobody is owed news. */
export const quietState: AlertState = { entries: {}, outbox: [] };

// A state is one record. A rule that finds more than this has one cause, and a person is not helped by the rest.
const entriesMax = 50;

/** One look. Answers the next state, with what is to be told in its outbox; the same object if nothing changed. */
export function nextState({
  rule,
  state,
  findings,
  now,
  isMuted,
}: {
  rule: { id: string; forMs: number };
  state: AlertState;
  findings: readonly Finding[];
  now: number;
  isMuted: boolean;
}): AlertState {
  const entries: Record<string, AlertEntry> = {};
  const notices: AlertNotice[] = [];
  const found = new Map(findings.map((finding) => [finding.subject, finding]));
  const subjects = [...Object.keys(state.entries), ...findings.map(({ subject }) => subject)];
  for (const subject of new Set(subjects)) {
    const before = state.entries[subject];
    const finding = found.get(subject);
    if (before === undefined && Object.keys(entries).length >= entriesMax) continue;
    const { entry, event } = step({ before, finding, now, isMuted, forMs: rule.forMs });
    if (entry !== null) entries[subject] = entry;
    if (event !== null) notices.push(noticeOf(rule.id, subject, event));
  }
  const next = { entries, outbox: [...state.outbox, ...notices] };
  return JSON.stringify(next) === JSON.stringify(state) ? state : next;
}

type News = Pick<AlertNotice, 'event' | 'message' | 'firedAt' | 'resolvedAt'>;

function step({
  before,
  finding,
  now,
  isMuted,
  forMs,
}: {
  before: AlertEntry | undefined;
  finding: Finding | undefined;
  now: number;
  isMuted: boolean;
  forMs: number;
}): { entry: AlertEntry | null; event: News | null } {
  if (finding === undefined) return before === undefined ? gone : over(before, now, isMuted);
  const sinceAt = before?.sinceAt ?? now;
  const firedAt = before?.firedAt ?? (now - sinceAt >= forMs ? now : null);
  const wasReported = before?.isReported ?? false;
  const reports = firedAt !== null && !wasReported && !isMuted;
  // The words of when it fired are kept: they would change with every look, and each change is a write.
  const message = before !== undefined && before.firedAt !== null ? before.message : finding.message;
  return {
    entry: { message, sinceAt, firedAt, isReported: wasReported || reports, resolvedAt: null },
    event: reports ? { event: 'fired', message, firedAt, resolvedAt: null } : null,
  };
}

const gone = { entry: null, event: null } as const;

function over(
  before: AlertEntry,
  now: number,
  isMuted: boolean,
): { entry: AlertEntry | null; event: News | null } {
  // Whoever never heard that it fired needs not hear that it is over.
  if (!before.isReported || before.firedAt === null) return gone;
  const resolvedAt = before.resolvedAt ?? now;
  if (isMuted) return { entry: { ...before, resolvedAt }, event: null };
  return {
    entry: null,
    event: { event: 'resolved', message: before.message, firedAt: before.firedAt, resolvedAt },
  };
}

function noticeOf(rule: string, subject: string, news: News): AlertNotice {
  return { id: `${rule}/${subject}/${news.firedAt}/${news.event}`, rule, subject, ...news };
}
