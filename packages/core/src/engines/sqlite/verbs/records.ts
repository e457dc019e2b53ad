import { dulyError } from '../../../base/errors.ts';
import type { RecordsInput, RecordsReply, SettingRecord } from '../../../contract/engine.ts';
import { audit } from '../audit.ts';
import { statements } from '../generated.ts';
import { eachGroup } from '../groups.ts';
import type { Work } from '../work.ts';

type Operation = RecordsInput['groups'][number]['ops'][number];

/** Whether a call only reads. */
export function isReading({ groups }: RecordsInput): boolean {
  return groups.every(({ ops }) => ops.every(({ op }) => op === 'get' || op === 'list'));
}

/** See the contract. */
export function records(work: Work, input: RecordsInput): Omit<RecordsReply, 'now'> {
  const groups = eachGroup(work, input.groups, (group) =>
    group.ops.map((op) => applyRecordOp(work, group.actor, op)),
  );
  return { groups };
}

function readRecord(work: Work, { kind, key }: { kind: string; key: string }): SettingRecord | undefined {
  const row = work.get<SettingRecord>(statements.record.read, kind, key);
  return row && { ...row };
}

function applyRecordOp(work: Work, actor: string, op: Operation): SettingRecord[] {
  if (op.op === 'list') {
    const rows = work.all<SettingRecord>(statements.record.list, op.kind, op.after ?? '', op.limit);
    return rows.map((row) => ({ ...row }));
  }
  const before = readRecord(work, op);
  if (op.op === 'get') return before === undefined ? [] : [before];
  if (op.expectVersion !== undefined && (before?.version ?? null) !== op.expectVersion) {
    throw dulyError('records_conflict', {
      message: `The ${op.kind} "${op.key}" is at version ${before?.version ?? 'none'}, not ${op.expectVersion ?? 'none'}.`,
      hint: 'Someone changed it meanwhile. Read it again and repeat the change.',
      details: { kind: op.kind, key: op.key },
    });
  }
  if (op.op === 'put') work.run(statements.record.put, op.kind, op.key, op.value, work.now);
  else if (before !== undefined) work.run(statements.record.delete, op.kind, op.key);
  const after = readRecord(work, op);
  // The position of a program changes all the time, and nobody decided it. A session changes no work, and any read key may begin one.
  if (op.kind !== 'cursor' && op.kind !== 'session') {
    audit(work, {
      actor,
      action: op.op,
      subject: `record:${op.kind}/${op.key}`,
      before: before === undefined ? null : (JSON.parse(before.value) as object),
      after: after === undefined ? null : (JSON.parse(after.value) as object),
      note: null,
    });
  }
  // A resumed queue has work again.
  if (op.kind === 'pause') work.notifications.add('jobs');
  return after === undefined ? [] : [after];
}
