-- The newest outcomes are enough for percentiles, and bound the work. Everything is in the index.
-- name: outcomes
SELECT status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at, type
FROM finished INDEXED BY finished_at WHERE finished_at >= ? ORDER BY finished_at DESC LIMIT 100000

-- name: outcomesOfSchedule
SELECT status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at
FROM finished INDEXED BY finished_schedule WHERE schedule_id = ? AND finished_at >= ? ORDER BY finished_at DESC LIMIT ? + 0

-- name: ended
SELECT count(*) AS count
FROM (SELECT 1 FROM finished INDEXED BY finished_at WHERE finished_at >= :fromAt AND finished_at < :beforeAt LIMIT :max + 0)

-- name: endedOfSchedule
SELECT count(*) AS count
FROM (SELECT 1 FROM finished INDEXED BY finished_schedule
      WHERE schedule_id = :scheduleId AND finished_at >= :fromAt AND finished_at < :beforeAt LIMIT :max + 0)

-- name: odd
SELECT status, count(*) AS count FROM finished INDEXED BY finished_odd
WHERE status <> 'COMPLETED' AND status IN ('CANCELLED', 'EXPIRED', 'FAILED') AND finished_at >= :fromAt AND finished_at < :beforeAt
  AND (:type IS NULL OR type = :type) GROUP BY status

-- name: sample
SELECT type, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
FROM finished INDEXED BY finished_at WHERE finished_at >= ? AND finished_at < ? ORDER BY finished_at LIMIT ? + 0

-- name: sampleOfSchedule
SELECT type, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
FROM finished INDEXED BY finished_schedule
WHERE schedule_id = ? AND finished_at >= ? AND finished_at < ? ORDER BY finished_at LIMIT ? + 0
