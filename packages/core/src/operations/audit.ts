import { type OptionNames, readOptions, readText, readWholeNumber } from '../base/option-reader.ts';
import type { AuditRow } from '../contract/engine.ts';
import type { OpenEngine } from './nodes.ts';
import { secretKind } from './records.ts';

/** One action on a job, schedule, record or value, as `duly.audit()` lists it. */
export interface AuditEntry {
  position: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  before: unknown;
  after: unknown;
  note: string | null;
}

/** Which audit entries. */
export interface AuditOptions {
  /** Only about this, like `job:<id>`. */
  subject?: string;
  /** Entries before this position. */
  before?: number;
  /** 1 to 1000, default 100. */
  limit?: number;
}

const auditNames: OptionNames<AuditOptions> = { subject: true, before: true, limit: true };
// A subject is a kind and an id or the name of a lock, a value or a schedule.
const subjectLengthMax = 3_000;

/** See `Duly.audit`. */
export async function readAudit(open: OpenEngine, options?: AuditOptions): Promise<AuditEntry[]> {
  const { subject, before, limit = 100 } = readOptions(options, 'audit()', auditNames);
  const engine = await open();
  const { rows } = await engine.audit({
    subject: subject === undefined ? null : readText(subject, 'subject', { lengthMax: subjectLengthMax }),
    before: before === undefined ? null : readWholeNumber(before, 'before', 0, Number.MAX_SAFE_INTEGER),
    limit: readWholeNumber(limit, 'limit', 1, 1_000),
  });
  return rows.map(toAuditEntry);
}

function toAuditEntry(row: AuditRow): AuditEntry {
  const isSecret = row.subject.startsWith(`record:${secretKind}/`);
  const read = (text: string | null): unknown =>
    text === null ? null : isSecret ? '[secret]' : JSON.parse(text);
  return { ...row, at: new Date(row.at), before: read(row.before), after: read(row.after) };
}
