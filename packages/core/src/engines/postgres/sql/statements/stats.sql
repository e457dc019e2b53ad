-- percentile_disc is the nearest rank: a value that was observed.

-- The newest outcomes are enough for percentiles, and bound the work.
-- name: outcomes
SELECT type, count(*) FILTER (WHERE status = 'COMPLETED') AS completed, count(*) FILTER (WHERE status = 'FAILED') AS failed,
  count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) AS "waitMsP50", percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) AS "waitMsP95",
  max(finished_at) FILTER (WHERE status = 'COMPLETED') AS "lastCompletedAt"
FROM (
  SELECT type, status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at, seq
  FROM duly.over WHERE finished_at >= $1::bigint AND ($2::jsonb IS NULL OR type = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb))))
  ORDER BY finished_at DESC, seq DESC LIMIT 100000) o
GROUP BY type ORDER BY max(finished_at) DESC, type

-- name: outcomesOfSchedules
SELECT s.id AS "scheduleId", o.*
FROM jsonb_array_elements_text($2::jsonb) WITH ORDINALITY AS s (id, place)
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE status = 'COMPLETED') AS completed, count(*) FILTER (WHERE status = 'FAILED') AS failed,
    count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE status = 'EXPIRED') AS expired,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP50",
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP95",
    percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) AS "waitMsP50", percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) AS "waitMsP95",
    max(finished_at) FILTER (WHERE status = 'COMPLETED') AS "lastCompletedAt"
  FROM (
    SELECT status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at
    FROM duly.over WHERE schedule_id = s.id AND finished_at >= $1::bigint ORDER BY finished_at DESC LIMIT $3::bigint) r) o
ORDER BY s.place

-- name: ended
SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM duly.finished WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" LIMIT $2::bigint) f)
  + (SELECT count(*) FROM (
    SELECT 1 FROM duly.dead WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" LIMIT $2::bigint) d) AS count
FROM jsonb_to_recordset($1::jsonb) AS k ("fromAt" bigint, "beforeAt" bigint) ORDER BY k."fromAt"

-- name: endedOfSchedule
SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM duly.finished WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" AND schedule_id = $3::text LIMIT $2::bigint) f)
  + (SELECT count(*) FROM (
    SELECT 1 FROM duly.dead WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" AND schedule_id = $3::text LIMIT $2::bigint) d) AS count
FROM jsonb_to_recordset($1::jsonb) AS k ("fromAt" bigint, "beforeAt" bigint) ORDER BY k."fromAt"

-- name: odd
SELECT (o.finished_at - $1::bigint) / $2::bigint AS step, o.status, count(*) AS count
FROM (
  SELECT finished_at, status FROM duly.finished
  WHERE status <> 'COMPLETED' AND status IN ('CANCELLED', 'EXPIRED', 'FAILED')
    AND finished_at >= $1::bigint AND finished_at < $3::bigint AND coalesce(type = $4::text, true)
  UNION ALL
  SELECT finished_at, status FROM duly.dead WHERE finished_at >= $1::bigint AND finished_at < $3::bigint AND coalesce(type = $4::text, true)) o
GROUP BY 1, 2

-- name: sample
SELECT k.step, count(*) AS "lookedCount",
  count(*) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS completed, count(*) FILTER (WHERE o.wanted AND status = 'FAILED') AS failed,
  count(*) FILTER (WHERE o.wanted AND status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE o.wanted AND status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP99",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP99"
FROM jsonb_to_recordset($1::jsonb) AS k (step integer, "fromAt" bigint, "beforeAt" bigint, "limit" bigint)
CROSS JOIN LATERAL (
  SELECT coalesce(type = $2::text, true) AS wanted, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
  FROM duly.over WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" ORDER BY finished_at LIMIT k."limit") o
GROUP BY k.step

-- name: sampleOfSchedule
SELECT k.step, count(*) AS "lookedCount",
  count(*) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS completed, count(*) FILTER (WHERE o.wanted AND status = 'FAILED') AS failed,
  count(*) FILTER (WHERE o.wanted AND status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE o.wanted AND status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP99",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP99"
FROM jsonb_to_recordset($1::jsonb) AS k (step integer, "fromAt" bigint, "beforeAt" bigint, "limit" bigint)
CROSS JOIN LATERAL (
  SELECT coalesce(type = $2::text, true) AS wanted, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
  FROM duly.over WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" AND schedule_id = $3::text ORDER BY finished_at LIMIT k."limit") o
GROUP BY k.step
