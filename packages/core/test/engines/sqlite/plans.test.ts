// Not part of the shared suite: how SQLite runs the statements. Claim cost must not depend on how many jobs there are.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { schemaSteps, statements } from '../../../src/engines/sqlite/generated.ts';
import { jobWhere } from '../../../src/engines/sqlite/job-where.ts';

/** Statements that may read a whole table, each with the reason. */
const scans: Record<string, string> = {
  'audit.prune': 'reads the oldest rows only, up to its limit',
  'changes.prune': 'reads the oldest rows only, up to its limit',
  'claim.byToken': 'reads the few jobs that run, and only after an unknown outcome',
  'claim.peek': 'reads one end of each index',
  'claim.peekOne': 'reads one end of each index',
  'clock.endScheduleLeases': 'once per boot of the machine',
  'clock.lastSeen': 'a row per boot, and the last one of the feed',
  'clock.endLocks': 'once per boot of the machine',
  'clock.forgetBoots': 'a row per boot',
  'counts.ready': 'stops at its cap',
  'counts.waiting': 'stops at its cap',
  'counts.running': 'stops at its cap',
  'counts.blocked': 'stops at its cap',
  'counts.odd': 'stops at its cap',
  'counts.completed': 'stops at its cap',
  'counts.lanes': 'stops at its cap',
  'counts.byNode': 'stops at its cap',
  'lease.peek': 'stops at the first row of the index',
  'lock.prune': 'locks are few, and it stops at its limit',
  'node.forget': 'a row per process',
  'node.list': 'a row per process',
  'stats.ended': 'counts a range of the index, up to its limit',
  'stats.endedOfSchedule': 'counts a range of the index, up to its limit',
  'upcoming.earliest': 'sorts what is due at the same instant',
  'upcoming.steps': 'counts a range of the index, up to its cap',
  'upcoming.types': 'reads the first entry of each type',
  'schedule.nextDue': 'reads the ends of two indexes',
};

const database = new DatabaseSync(':memory:');
for (const { sql } of schemaSteps) database.exec(sql);

const named = Object.entries(statements).flatMap(([file, parts]) =>
  Object.entries(parts as Record<string, string>).map(([name, sql]) => [`${file}.${name}`, sql] as const),
);

function planOf(sql: string): string {
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.map((step) => String(step['detail'])).join('; ');
}

test('every statement goes by an index, but for those that say why they need not', () => {
  // The list that a statement was given is read from end to end, of course.
  // So is what was found by indexes and is only to be told once: SQLite before 3.52 calls that UNION USING TEMP B-TREE.
  const isScan = (plan: string) => /\bSCAN (?!\S+ VIRTUAL TABLE)|USE TEMP B-TREE/.test(plan);
  const found = named.filter(([, sql]) => isScan(planOf(sql))).map(([name]) => name);
  assert.deepEqual(found.sort(), Object.keys(scans).sort());
});

// SQLite says SEARCH also where it seeks by the first columns only and then walks. A loose scan must use all of them.
test('the steps of a loose scan seek by every column they compare', () => {
  const { claim } = statements;
  assert.match(planOf(claim.nextVersion), /jobs_ready \(solo=\? AND type=\? AND version>\? AND version<\?\)/);
  assert.match(planOf(claim.nextQueue), /jobs_ready \(solo=\? AND type=\? AND version=\? AND queue>\?\)/);
  assert.match(planOf(claim.heads), /jobs_ready \(solo=\? AND type=\? AND version=\? AND queue=\?/);
  assert.match(planOf(statements.job.promotable), /jobs_waiting \(type=\? AND due_at<\?\)/);
  assert.match(planOf(statements.job.nextWaitingType), /jobs_waiting \(type>\?\)/);
});

test('the backfills of a slot are found by an index, however many runs a schedule has', () => {
  const filter = { scheduleId: 's', origin: 'backfill' as const, slotFrom: 1, slotBefore: 2 };
  for (const table of ['jobs', 'finished'] as const) {
    const where = jobWhere(filter, table, 0);
    assert.match(
      planOf(`SELECT * FROM ${table} WHERE ${where?.sql} ORDER BY id DESC LIMIT 9`),
      new RegExp(`${table}_backfill \\(schedule_id=\\? AND <expr>>\\? AND <expr><\\?\\)`),
    );
  }
});

// SQLite looks at the value of a bare bound LIMIT when it prepares, so it prepares the statement anew each time one is bound: 10 to
// 90 µs instead of 2. In an expression it does not look.
test('no statement has a bare bound limit', () => {
  const found = named.filter(([, sql]) => /LIMIT\s+[?:][a-zA-Z]*(?!\s*\+ 0)\s*(?:$|[)\n])/.test(sql));
  assert.deepEqual(
    found.map(([name]) => name),
    [],
  );
});
