import type { Actor } from '../../contract/engine.ts';
import { statements } from './generated.ts';
import type { Work } from './work.ts';

/** Writes who did what to a job, schedule, record or value, in the same transaction. */
export function audit(
  work: Work,
  row: {
    actor: Actor;
    action: string;
    subject: string;
    before: object | null;
    after: object | null;
    note: string | null;
  },
): void {
  work.run(
    statements.audit.append,
    work.now,
    row.actor,
    row.action,
    row.subject,
    row.before === null ? null : JSON.stringify(row.before),
    row.after === null ? null : JSON.stringify(row.after),
    row.note,
  );
}
