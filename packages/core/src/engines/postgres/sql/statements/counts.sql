-- Each scan stops at the cap and says how many rows it saw.
-- name: status
WITH ready AS (SELECT status FROM duly.jobs WHERE rank IS NOT NULL LIMIT $2::bigint),
waiting AS (
  SELECT CASE WHEN status = 'SCHEDULED' AND due_at <= $1::bigint THEN 'PENDING' ELSE status END AS status
  FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') LIMIT $2::bigint),
running AS (SELECT 'RUNNING' AS status FROM duly.leases LIMIT $2::bigint),
blocked AS (SELECT status FROM duly.jobs WHERE status = 'BLOCKED' LIMIT $2::bigint),
-- What did not complete is counted apart, so that a long history does not hide it behind the cap.
failed AS (
  SELECT status FROM (
    (SELECT status FROM duly.dead LIMIT $2::bigint)
    UNION ALL (SELECT status FROM duly.finished WHERE status <> 'COMPLETED' AND status = 'FAILED' LIMIT $2::bigint)) f
  LIMIT $2::bigint),
cancelled AS (SELECT status FROM duly.finished WHERE status <> 'COMPLETED' AND status = 'CANCELLED' LIMIT $2::bigint),
expired AS (SELECT status FROM duly.finished WHERE status <> 'COMPLETED' AND status = 'EXPIRED' LIMIT $2::bigint),
completed AS (SELECT status FROM duly.finished WHERE status = 'COMPLETED' LIMIT $2::bigint)
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned FROM ready GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM waiting GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM running GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM blocked GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM failed GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM cancelled GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM expired GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM completed GROUP BY status

-- name: lanes
SELECT queue, type, version, count(*) AS ready, min(due_at) AS oldest, sum(count(*)) OVER () AS scanned
FROM (SELECT queue, type, version, due_at FROM duly.jobs WHERE rank IS NOT NULL LIMIT $1::bigint) r
GROUP BY queue, type, version ORDER BY queue, type, version

-- name: byNode
SELECT coalesce(j.node, '') AS node, j.type, count(*) AS count
FROM (SELECT id FROM duly.leases LIMIT $1::bigint) l JOIN duly.jobs j ON j.id = l.id GROUP BY 1, 2 ORDER BY 1, 2
