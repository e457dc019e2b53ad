-- Each scan stops at the cap and says how many rows it saw.
-- name: status
WITH ready AS (SELECT status FROM duly.jobs WHERE rank IS NOT NULL LIMIT $2::bigint),
waiting AS (
  SELECT CASE WHEN status = 'SCHEDULED' AND due_at <= $1::bigint THEN 'PENDING' ELSE status END AS status
  FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') LIMIT $2::bigint),
running AS (SELECT 'RUNNING' AS status FROM duly.leases LIMIT $2::bigint),
blocked AS (SELECT status FROM duly.jobs WHERE status = 'BLOCKED' LIMIT $2::bigint),
-- Dead letters are counted apart, so that a long history does not hide them behind the cap.
dead AS (SELECT status FROM duly.dead LIMIT $2::bigint),
over AS (SELECT status FROM duly.finished LIMIT $2::bigint)
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned FROM ready GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM waiting GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM running GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM blocked GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM dead GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM over GROUP BY status

-- name: lanes
SELECT queue, type, version, count(*) AS ready, min(due_at) AS oldest, sum(count(*)) OVER () AS scanned
FROM (SELECT queue, type, version, due_at FROM duly.jobs WHERE rank IS NOT NULL LIMIT $1::bigint) r
GROUP BY queue, type, version ORDER BY queue, type, version

-- name: byNode
SELECT coalesce(j.node, '') AS node, j.type, count(*) AS count
FROM (SELECT id FROM duly.leases LIMIT $1::bigint) l JOIN duly.jobs j ON j.id = l.id GROUP BY 1, 2 ORDER BY 1, 2

-- The newest outcomes are enough for percentiles, and bound the work. percentile_disc is the nearest rank: a value that was observed.
-- name: outcomes
SELECT type, count(*) FILTER (WHERE status = 'COMPLETED') AS completed, count(*) FILTER (WHERE status = 'FAILED') AS failed,
  count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) AS "waitMsP50", percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) AS "waitMsP95"
FROM (
  SELECT type, status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at, seq
  FROM duly.over_1 WHERE finished_at >= $1::bigint AND ($2::jsonb IS NULL OR type = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb))))
  ORDER BY finished_at DESC, seq DESC LIMIT 100000) o
GROUP BY type ORDER BY max(ARRAY[finished_at, seq]) DESC
