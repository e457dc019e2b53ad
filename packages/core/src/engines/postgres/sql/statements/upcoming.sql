-- `jobs_waiting` begins with the type, so each type is looked at by itself: the next one is one step along the index.
-- $1 now, $2 before, $3 step, $4 cap, $5 all tenants, $6 tenant
-- name: steps
WITH RECURSIVE one AS (
  (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
  UNION ALL
  SELECT (SELECT j.type FROM duly.jobs j
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > one.type ORDER BY j.type LIMIT 1)
  FROM one WHERE one.type IS NOT NULL)
SELECT one.type, (w.due_at - $1::bigint) / $3::bigint AS step, count(*) AS count
FROM one CROSS JOIN LATERAL (
  SELECT due_at FROM duly.jobs
  WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = one.type AND due_at > $1::bigint AND due_at < $2::bigint
    AND ($5::boolean OR tenant IS NOT DISTINCT FROM $6::text)
  ORDER BY due_at LIMIT $4::bigint + 1) w
GROUP BY 1, 2

-- $1 now, $2 before, $3 limit, $4 all tenants, $5 tenant
-- name: earliest
WITH RECURSIVE one AS (
  (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
  UNION ALL
  SELECT (SELECT j.type FROM duly.jobs j
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > one.type ORDER BY j.type LIMIT 1)
  FROM one WHERE one.type IS NOT NULL)
SELECT w.id
FROM one CROSS JOIN LATERAL (
  SELECT id, due_at FROM duly.jobs
  WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = one.type AND due_at > $1::bigint AND due_at < $2::bigint
    AND ($4::boolean OR tenant IS NOT DISTINCT FROM $5::text)
  ORDER BY due_at, id LIMIT $3::bigint) w
ORDER BY w.due_at, w.id LIMIT $3::bigint
