-- Jobs by id, wherever they are; the newest life of an id comes first. Always one row at least: the store's instant.
-- name: get
SELECT n.now, m.value AS pruned, j.*
FROM (SELECT duly.now($1::bigint) AS now) n
LEFT JOIN duly.meta m ON m.key = 'pruned_created_at'
LEFT JOIN duly.found(ARRAY(SELECT jsonb_array_elements_text($2::jsonb))) j ON true
ORDER BY j.finished_at DESC NULLS FIRST, j.seq DESC

-- name: holder
SELECT n.now, m.value AS pruned, j.*
FROM (SELECT duly.now($1::bigint) AS now) n
LEFT JOIN duly.meta m ON m.key = 'pruned_created_at'
LEFT JOIN LATERAL (SELECT duly.holder(n.now, $2::text, $3::text, $4::text) AS id) h ON true
LEFT JOIN LATERAL duly.found(ARRAY[h.id]) j ON true
ORDER BY j.finished_at DESC NULLS FIRST, j.seq DESC

-- name: logs
SELECT t.now, l.n, l.attempt, l.at, l.level, l.message
FROM (SELECT duly.now($1::bigint) AS now) t
LEFT JOIN LATERAL (SELECT * FROM duly.logs WHERE job_id = $2::text AND n > $3::bigint ORDER BY n LIMIT $4::bigint) l ON true
ORDER BY l.n

-- name: now
SELECT duly.now($1::bigint) AS now
