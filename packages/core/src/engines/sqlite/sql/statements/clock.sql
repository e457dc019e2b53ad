-- The store's clock: one row per boot of the machine.

-- name: read
SELECT offset_ms, steady_ms, floor_at, floor_mono, candidate_ms, candidate_mono, seen_at FROM clocks WHERE boot = ?

-- The latest instant that anybody has seen: the clocks note it once a minute, the feed with every change.
-- name: lastSeen
SELECT max(coalesce((SELECT max(seen_at) FROM clocks), 0), coalesce((SELECT at FROM changes ORDER BY position DESC LIMIT 1), 0)) AS seen

-- name: begin
INSERT INTO clocks (boot, offset_ms, steady_ms, floor_at, floor_mono, seen_at)
VALUES (:boot, :offset, :offset, :floor, :mono, :seen)
ON CONFLICT (boot) DO NOTHING

-- name: endJobLeases
UPDATE jobs SET lease_until = min(lease_until, ?) WHERE lease_until IS NOT NULL

-- name: endScheduleLeases
UPDATE schedules SET lease_until = min(lease_until, ?) WHERE lease_until IS NOT NULL

-- name: endLocks
UPDATE locks SET until = min(until, ?)

-- name: forgetBoots
DELETE FROM clocks WHERE boot <> :boot AND seen_at < :before

-- name: agree
UPDATE clocks SET candidate_ms = NULL, candidate_mono = NULL, seen_at = :now WHERE boot = :boot

-- name: propose
UPDATE clocks SET candidate_ms = :seen, candidate_mono = :mono, seen_at = :now WHERE boot = :boot

-- The floor keeps now from going back: after a step backwards it runs on from here, at half speed.
-- name: adopt
UPDATE clocks
SET offset_ms = :seen, floor_at = :now, floor_mono = :mono, candidate_ms = NULL, candidate_mono = NULL, seen_at = :now
WHERE boot = :boot

-- name: record
INSERT INTO clock_steps (at, step_ms, boot) VALUES (:now, :step, :boot)
