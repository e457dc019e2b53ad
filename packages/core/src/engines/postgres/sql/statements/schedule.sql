-- name: slots
SELECT t.now, s.* FROM (SELECT duly.now($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at FROM duly.slots
  WHERE schedule_id = $2::text AND to_at >= $3::bigint AND from_at < $4::bigint
  ORDER BY generation DESC, from_at DESC LIMIT $5::bigint) s ON true
ORDER BY s.generation DESC, s.from_at DESC

-- name: compactedRows
SELECT generation, start_at AS "startAt", from_at AS "fromAt", to_at AS "toAt", counts FROM duly.compacted_months
WHERE schedule_id = $1::text AND to_at >= $2::bigint AND from_at < $3::bigint ORDER BY generation DESC, start_at DESC LIMIT $4::bigint
