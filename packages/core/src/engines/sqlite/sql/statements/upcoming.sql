-- `jobs_waiting` begins with the type, so each type is looked at by itself: the next one is one step along the index.
-- name: types
WITH RECURSIVE one(type) AS (
  SELECT (SELECT type FROM jobs INDEXED BY jobs_waiting
          WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
  UNION ALL
  SELECT (SELECT j.type FROM jobs j INDEXED BY jobs_waiting
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > one.type ORDER BY j.type LIMIT 1)
  FROM one WHERE one.type IS NOT NULL)
SELECT type FROM one WHERE type IS NOT NULL

-- name: steps
-- Numbers that are bound divide as fractions.
SELECT CAST((due_at - :now) / :stepMs AS INTEGER) AS step, count(*) AS count
FROM (SELECT due_at FROM jobs INDEXED BY jobs_waiting
      WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = :type AND due_at > :now AND due_at < :beforeAt
        AND (:isAll OR tenant IS :tenant)
      ORDER BY due_at LIMIT :cap + 1)
GROUP BY 1

-- name: earliest
SELECT * FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = :type AND due_at > :now AND due_at < :beforeAt
  AND (:isAll OR tenant IS :tenant)
ORDER BY due_at, id LIMIT :limit + 0
