-- Each scan stops at :cap rows of its index and says how many it saw.

-- name: ready
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT status FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL LIMIT :cap + 0) GROUP BY status

-- name: waiting
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT CASE WHEN status = 'SCHEDULED' AND due_at <= :now THEN 'PENDING' ELSE status END AS status
      FROM jobs INDEXED BY jobs_waiting WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') LIMIT :cap + 0) GROUP BY status

-- name: running
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT status FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL LIMIT :cap + 0) GROUP BY status

-- name: blocked
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT status FROM jobs INDEXED BY jobs_blocked WHERE status = 'BLOCKED' LIMIT :cap + 0) GROUP BY status

-- What did not complete is counted apart, so that a long history does not hide it behind the cap.
-- name: odd
SELECT status, count(*) AS count, count(*) AS scanned
FROM (SELECT status FROM finished INDEXED BY finished_odd WHERE status <> 'COMPLETED' AND status = :status LIMIT :cap + 0) GROUP BY status

-- name: completed
SELECT status, count(*) AS count, count(*) AS scanned
FROM (SELECT status FROM finished INDEXED BY finished_at WHERE status = 'COMPLETED' LIMIT :cap + 0) GROUP BY status

-- name: lanes
SELECT queue, type, version, count(*) AS ready, min(due_at) AS oldest, sum(count(*)) OVER () AS scanned
FROM (SELECT queue, type, version, due_at FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL LIMIT :cap + 0)
GROUP BY queue, type, version

-- name: byNode
SELECT coalesce(node, '') AS node, type, count(*) AS count
FROM (SELECT node, type FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL LIMIT :cap + 0) GROUP BY node, type
