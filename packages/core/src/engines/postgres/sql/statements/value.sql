-- Gone at its instant, whenever the sweep comes.
-- name: get
SELECT t.now, k.i, e.value, e.expires_at FROM (SELECT duly.now($1::bigint) AS now) t
LEFT JOIN LATERAL ROWS FROM (jsonb_to_recordset($2::jsonb) AS (name text, key text)) WITH ORDINALITY AS k (name, key, i) ON true
LEFT JOIN duly.expirings e ON e.name = k.name AND e.key = k.key AND e.expires_at > t.now
ORDER BY k.i
