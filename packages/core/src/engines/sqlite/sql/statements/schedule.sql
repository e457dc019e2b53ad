-- name: read
SELECT schedules.*, specs.spec FROM schedules JOIN specs USING (seq) WHERE id = ?

-- name: generation
SELECT generation FROM generations WHERE id = ?

-- name: setGeneration
INSERT INTO generations (id, generation) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET generation = excluded.generation

-- name: insert
INSERT INTO schedules (id, app, tenant, name, generation, version, state, due_at, waits_for, created_at, updated_at)
VALUES (:id, :app, :tenant, :name, :generation, 1, :state, :due, :waitsFor, :now, :now)

-- name: putSpec
INSERT INTO specs (seq, spec) VALUES (?, ?) ON CONFLICT (seq) DO UPDATE SET spec = excluded.spec

-- name: deleteSpec
DELETE FROM specs WHERE seq = ?

-- A new version ends the lease of whoever is deciding by the old one.
-- name: update
UPDATE schedules SET app = :app, tenant = :tenant, name = :name, version = version + 1, state = :state,
  due_at = :due, waits_for = :waitsFor, updated_at = :now, lease_until = NULL, token = NULL, node = NULL
WHERE id = :id

-- name: delete
DELETE FROM schedules WHERE id = ?

-- When the next one falls due, leased or not.
-- name: peek
SELECT min(due_at) FROM schedules INDEXED BY schedules_due WHERE due_at IS NOT NULL

-- The ones that wait for the longest, as they are before they are leased.
-- name: due
SELECT seq, id, app, tenant, name, generation, version, spec, state, due_at, waits_for, created_at, updated_at
FROM schedules INDEXED BY schedules_due JOIN specs USING (seq)
WHERE due_at IS NOT NULL AND due_at <= ? AND (lease_until IS NULL OR lease_until <= ?)
ORDER BY due_at LIMIT ? + 0

-- name: leaseOne
UPDATE schedules SET fence = ?, lease_until = ?, token = ?, node = ? WHERE seq = ?

-- name: leaseMany
UPDATE schedules SET fence = ?, lease_until = ?, token = ?, node = ? WHERE seq IN (SELECT value FROM json_each(?))

-- name: byToken
SELECT id, app, tenant, name, generation, version, spec, state, due_at, waits_for, created_at, updated_at, fence
FROM schedules INDEXED BY schedules_token JOIN specs USING (seq) WHERE token IS NOT NULL AND token = ?

-- name: lease
UPDATE schedules SET fence = ?, lease_until = ?, token = ?, node = ?
WHERE id = ? AND (lease_until IS NULL OR lease_until <= ?)
RETURNING id, app, tenant, name, generation, version, (SELECT spec FROM specs WHERE specs.seq = schedules.seq), state, due_at, waits_for, created_at, updated_at, fence

-- When the next one that is free falls due, and when the next lease of another claim ends. Leased ones are few: those that a node decides at
-- this moment, and those of a node that died.
-- name: nextDue
SELECT (SELECT min(due_at) FROM schedules INDEXED BY schedules_due
    WHERE due_at IS NOT NULL AND (lease_until IS NULL OR lease_until <= ?1)),
  (SELECT min(lease_until) FROM schedules INDEXED BY schedules_token
    WHERE token IS NOT NULL AND token <> ?2 AND lease_until > ?1 AND due_at IS NOT NULL)

-- name: held
SELECT seq, generation FROM schedules WHERE id = ? AND version = ? AND fence = ?

-- name: fire
UPDATE schedules SET state = ?, due_at = ?, waits_for = ?, version = version + 1, updated_at = ?,
  lease_until = NULL, token = NULL, node = NULL
WHERE seq = ?

-- name: active
SELECT id, status, slot, origin, due_at, cancel_requested_at FROM jobs INDEXED BY jobs_schedule
WHERE schedule_id = ? AND json_extract(slot, '$.allow') IS NOT 1 ORDER BY seq LIMIT 10

-- name: activeCount
SELECT count(*) AS count FROM jobs INDEXED BY jobs_schedule
WHERE schedule_id = ? AND json_extract(slot, '$.allow') IS NOT 1

-- name: unstarted
SELECT id FROM jobs INDEXED BY jobs_schedule WHERE schedule_id = ? AND started_at IS NULL

-- name: waits
SELECT 1 FROM jobs WHERE id = ? AND status IN ('SCHEDULED', 'PENDING', 'BLOCKED')

-- name: setSlotDetails
UPDATE jobs SET slot = json_set(slot, '$.details', ?) WHERE id = ?

-- name: free
UPDATE schedules SET lease_until = NULL, token = NULL, node = NULL WHERE id = ? AND version = ? AND fence = ?

-- name: addSlot
INSERT INTO slots (schedule_id, generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- The newest row, to lengthen it when the next slots have the same decision.
-- name: lastSlot
SELECT from_at, to_at, count, decision, reason, job_id FROM slots
WHERE schedule_id = ? AND generation = ? ORDER BY from_at DESC LIMIT 1

-- name: extendSlot
UPDATE slots SET to_at = ?, count = ?, last_decided_at = ? WHERE schedule_id = ? AND generation = ? AND from_at = ?

-- name: slots
SELECT generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at FROM slots
WHERE schedule_id = ? AND to_at >= ? AND from_at < ? ORDER BY generation DESC, from_at DESC LIMIT ? + 0

-- A row that is still lengthened is not old, whenever it was begun.
-- name: oldSlots
SELECT schedule_id AS scheduleId, generation, from_at AS fromAt, to_at AS toAt, count, decision
FROM slots INDEXED BY slots_decided
WHERE decided_at < :before AND last_decided_at < :before ORDER BY decided_at LIMIT :limit + 0

-- name: removeSlot
DELETE FROM slots WHERE schedule_id = ? AND generation = ? AND from_at = ?

-- name: readCompactedRow
SELECT from_at AS fromAt, to_at AS toAt, counts FROM compacted_months WHERE schedule_id = ? AND generation = ? AND start_at = ?

-- name: writeCompactedRow
INSERT INTO compacted_months (schedule_id, generation, start_at, from_at, to_at, counts) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (schedule_id, generation, start_at) DO UPDATE
SET from_at = excluded.from_at, to_at = excluded.to_at, counts = excluded.counts

-- name: forgetCompacted
DELETE FROM compacted_months WHERE schedule_id = ?

-- name: compactedRows
SELECT generation, start_at AS startAt, from_at AS fromAt, to_at AS toAt, counts FROM compacted_months
WHERE schedule_id = ? AND to_at >= ? AND from_at < ? ORDER BY generation DESC, start_at DESC LIMIT ? + 0
