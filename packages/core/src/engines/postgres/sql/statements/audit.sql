-- name: list
SELECT t.now, a.* FROM (SELECT duly.now($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT position, at, actor, action, subject, before, after, note FROM duly.audit
  WHERE position < $2::bigint ORDER BY position DESC LIMIT $3::bigint) a ON true
ORDER BY a.position DESC

-- name: listSubject
SELECT t.now, a.* FROM (SELECT duly.now($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT position, at, actor, action, subject, before, after, note FROM duly.audit
  WHERE subject = $4::text AND position < $2::bigint ORDER BY position DESC LIMIT $3::bigint) a ON true
ORDER BY a.position DESC
