-- The transitions of a job that several verbs share.

-- The only insert of a job. The last eight columns are set if it is inserted as RUNNING.
-- name: insert
INSERT INTO jobs (
  {{job.caller}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, dedupe_key, parent_id, parent_key,
  schedule_id, slot, fence, lease_until, token, node, claimed_at, started_at, lateness_ms, attempt
) VALUES ({{job.caller | ?}}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING

-- name: state
SELECT seq, {{job.state}}
FROM jobs WHERE id = ?

-- name: stateBySeq
SELECT seq, {{job.state}}
FROM jobs WHERE seq = ?

-- name: live
SELECT jobs.* FROM jobs WHERE id = ?

-- name: finished
SELECT finished.* FROM finished WHERE id = ?

-- name: finishedBrief
SELECT seq, id, type, tenant, status, due_at, finished_at, fence, dead FROM finished WHERE id = ?

-- name: place
UPDATE jobs SET status = ?, reason = ?, rank = ?, expire_at = expire_at + (? - due_at), due_at = ?, updated_at = ? WHERE seq = ?

-- OR REPLACE: an id that was made a second time after its first life ended must not jam its worker.
-- name: finish
INSERT OR REPLACE INTO finished (
  seq, {{job.kept -startedAt -latenessMs -fence -spent -losses -begunLosses}},
  status, reason, updated_at, started_at, lateness_ms, finished_at, dead, prune_at, fence, spent,
  losses, begun_losses, percent, message, step, step_of, cancelled_by, error, result
)
SELECT seq, {{job.kept -startedAt -latenessMs -fence -spent -losses -begunLosses}},
  ?, ?, ?, CASE WHEN ? THEN NULL ELSE started_at END, CASE WHEN ? THEN NULL ELSE lateness_ms END, ?, ?, ?, ?, ?,
  ?, ?, coalesce(?, percent), coalesce(?, message), coalesce(?, step), coalesce(?, step_of), coalesce(?, cancelled_by),
  CASE WHEN ? THEN NULL ELSE coalesce(?, error) END, ?
FROM jobs WHERE seq = ?

-- Many that returned, at a third of the price of one by one. Each of the list: id, fence, result, whether an attempt is spent. What is not
-- held under that fence is left out.
-- name: finishMany
INSERT OR REPLACE INTO finished (
  seq, {{job.kept}}, status, reason, updated_at, finished_at, dead, prune_at,
  percent, message, step, step_of, cancelled_by, error, result
)
SELECT seq, {{job.kept | jobs.%column | , | spent=spent + (list.value ->> 3)}},
  'COMPLETED', :reason, :now, :now, 0, :now + json_extract(policy, '$.retentionMs'),
  100, message, step, step_of, cancelled_by, NULL, list.value ->> 2
FROM json_each(:list) AS list CROSS JOIN jobs ON jobs.id = list.value ->> 0
WHERE fence = list.value ->> 1 AND status = 'RUNNING'
RETURNING seq, id, type, tenant, dedupe_key, serial

-- name: removeMany
DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))

-- Which of these jobs another job or a schedule waits for.
-- name: followed
SELECT ref FROM gates WHERE ref IN (SELECT value FROM json_each(:ids)) AND kind <> 'serial'
UNION SELECT waits_for FROM schedules WHERE waits_for IN (SELECT value FROM json_each(:ids))

-- name: remove
DELETE FROM jobs WHERE seq = ?

-- name: removeFinished
DELETE FROM finished WHERE id = ?

-- name: removeLogs
DELETE FROM logs WHERE job_id = ?

-- name: removeJournal
DELETE FROM journal WHERE scope = ?

-- name: removeChildren
DELETE FROM children WHERE parent_id = ?

-- name: child
SELECT job_id FROM children WHERE parent_id = ? AND key = ?

-- name: addChild
INSERT INTO children (parent_id, key, job_id) VALUES (?, ?, ?)

-- name: addGate
INSERT INTO gates (kind, ref, order_at, job) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING

-- name: reorderGate
UPDATE gates SET order_at = ? WHERE kind = 'serial' AND job = ?

-- name: gatesOf
SELECT kind, ref FROM gates WHERE job = ? ORDER BY kind, ref

-- name: removeGatesOf
DELETE FROM gates WHERE job = ?

-- name: isAwaited
SELECT 1 FROM gates WHERE ref = ? AND kind <> 'serial' LIMIT 1

-- name: openGates
DELETE FROM gates WHERE ref = ? AND kind <> 'serial' RETURNING job

-- name: serialHolder
SELECT job FROM places WHERE kind = 'serial' AND ref = ?

-- name: holdSerial
INSERT INTO places (kind, ref, job) VALUES ('serial', ?, ?)

-- name: releaseSerial
DELETE FROM places WHERE kind = 'serial' AND ref = ? AND job = ?

-- Jobs of a key that are due and that nobody has promoted yet: after downtime they stand before whoever comes now.
-- name: unpromotedOfSerial
SELECT {{job.waiting}}, seq
FROM jobs INDEXED BY jobs_serial
WHERE serial IS NOT NULL AND serial = :serial AND tenant IS :tenant AND status = 'SCHEDULED' AND due_at <= :now AND seq <> :seq

-- Who waits for the place: the earliest due first, then the one made first.
-- name: nextInLine
SELECT job AS seq, order_at FROM gates WHERE kind = 'serial' AND ref = ? ORDER BY order_at, job LIMIT 1

-- name: removeSerialGate
DELETE FROM gates WHERE kind = 'serial' AND ref = ? AND job = ?

-- name: isWaitedFor
SELECT 1 FROM schedules WHERE waits_for = ? LIMIT 1

-- name: wakeSchedules
UPDATE schedules SET due_at = ? WHERE waits_for = ? AND (due_at IS NULL OR due_at > ?)

-- name: promotable
SELECT {{job.waiting}}, seq
FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ? AND due_at <= ?
ORDER BY due_at, seq LIMIT ? + 0

-- name: nextDue
SELECT min(due_at) AS at FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ?

-- The types that wait, by a loose scan.
-- name: nextWaitingType
SELECT type FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type > ? ORDER BY type LIMIT 1

-- name: overdue
SELECT seq FROM jobs INDEXED BY jobs_deadline
WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < ? ORDER BY expire_at LIMIT ? + 0

-- name: nextDeadline
SELECT min(expire_at) AS at FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL
